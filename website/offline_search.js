// A page that is opened from a disk may not start a worker. Its search runs in a hidden frame that takes the same messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      window.answerOfSearch = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = document.createElement("script");
      script.src = url;
      this.frame.srcdoc = `<script>window.postMessage = (data) => parent.answerOfSearch(data)</script>${script.outerHTML}`;
      this.frame.addEventListener("load", () => {
        this.ready = true;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      });
      document.body.append(this.frame);
    }

    postMessage(data) {
      if (!this.ready) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
}
