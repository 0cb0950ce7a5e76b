"""What a file holds, what is wrong with it, what to type next."""

DOCUMENTS = {"doctor": ("result:DoctorDocument", "view:describe", "view:answer", "view:describe_in_short")}

PUBLIC = {"front": ("doctor",)}
