"""The single next command, ready to paste: what would settle an event that a log can only name."""

APP = "./app"
SERIALISE = f"gpudx run --serialise --stacks -- {APP}"
SANITIZE = f"gpudx run --sanitize --stacks -- {APP}"
RECORD = f"gpudx run --stacks -- {APP}"
DUMP = f"gpudx run --dump --stacks -- {APP}"
HANG = f"gpudx run --dump --timeout 120 -- {APP}"
INVESTIGATE = f"gpudx investigate -- {APP}"
DOCTOR = "gpudx doctor -v"
# These variables are the runtime's own (HIP documentation, "Debugging with HIP"): they need nothing but the program.
HIP_SERIALISE = f"AMD_SERIALIZE_KERNEL=3 AMD_SERIALIZE_COPY=3 AMD_LOG_LEVEL=3 {APP}"
