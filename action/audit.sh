#!/usr/bin/env bash
# Audit the files of an action's inputs: a page for each, one summary, one JUnit file, and the gravest exit code.
# FILES, GATES and ARGUMENTS hold one item a line; patterns among FILES are expanded. REPORTS is a folder.
set -uo pipefail
shopt -s nullglob globstar

# items TEXT: the lines of a text that are not blank, without the blanks around them.
items() {
  local line
  while IFS= read -r line || [ -n "$line" ]; do
    line="${line#"${line%%[![:space:]]*}"}"
    line="${line%"${line##*[![:space:]]}"}"
    [ -z "$line" ] || printf '%s\0' "$line"
  done <<<"$1"
}

# page_of FILE: set `page` to the name of its page, which no other file has. An artifact takes no name with one of
# "<>|*?:\ or a line end in it, and many systems hold the same letters in capitals for the same name.
declare -A taken=()
page_of() {
  local stem="${1#./}" number=2
  stem="${stem//[\/\"<>|*?:\\[:cntrl:]]/_}"
  [ "${#stem}" -le 60 ] || stem="${stem: -60}"
  page="$stem.html"
  while [ -n "${taken["${page,,}"]:-}" ]; do page="$stem.$((number++)).html"; done
  taken["${page,,}"]=1
}

# outcome WORDS: what the action's output says.
outcome() { [ -z "${GITHUB_OUTPUT:-}" ] || printf 'outcome=%s\n' "$1" >>"$GITHUB_OUTPUT"; }

files=() asked=()
declare -A named=()
while IFS= read -r -d '' pattern; do
  IFS=
  # shellcheck disable=SC2206 # expanding the pattern is what it is for
  found=($pattern)
  unset IFS
  # What nothing matches is named, so that it is said not to be there.
  [ "${#found[@]}" -gt 0 ] || found=("$pattern")
  for file in "${found[@]}"; do
    [ "${file:0:1}" = / ] || file="./${file#./}"
    [ -n "${named["$file"]:-}" ] || files+=("$file")
    named["$file"]=1
  done
done < <(items "$FILES")
while IFS= read -r -d '' gate; do asked+=("--fail-under=$gate"); done < <(items "$GATES")
while IFS= read -r -d '' argument; do asked+=("$argument"); done < <(items "${ARGUMENTS:-}")
[ "${REPORTS:0:1}" = / ] || REPORTS="./$REPORTS"

# A line of a table that begins with two colons would be a command to the build server.
if [ -n "${GITHUB_ACTIONS:-}" ]; then
  token="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
  printf '::stop-commands::%s\n' "$token"
  trap 'printf "\n::%s::\n" "$token"' EXIT
fi

if ! mkdir -p "$REPORTS"; then
  outcome "bad input"
  exit 2
fi
missing=""
for file in "${files[@]}"; do
  page_of "$file"
  said="$(bonwise audit "${asked[@]}" --html="$REPORTS/$page" -- "$file" 2>&1 >/dev/null)"
  case $? in
    0 | 1 | 3) ;;
    *) missing+="$said"$'\n' ;;
  esac
done
bonwise audit "${asked[@]}" --markdown="$REPORTS/summary.md" --junit="$REPORTS/gates.xml" -- "${files[@]}"
code=$?
# Where the audit of all says what is wrong, it is not said twice.
[ "$code" -eq 2 ] || printf '%s' "$missing" >&2
case $code in
  0) outcome met ;;
  1) outcome "not met" ;;
  3) outcome inconclusive ;;
  *) outcome "bad input" ;;
esac
exit "$code"
