"""Causes that several detectors, or none, can name: those of tools, of logs, and of investigations."""

from __future__ import annotations

from gpudx.model import Cause, Prediction
from gpudx.model.cause_kinds import COPIES, FENCES, FIXED, IN_KERNEL, LIFETIME, MEMORY, ORDER, PROGRAM, THREADS

CAUSES = (
    Cause(
        id="undersized-buffer",
        title="A buffer is smaller than the launch that uses it needs",
        refutes_if="The launch stays inside the buffer with the sizes that it was passed.",
        fix=("Allocate the buffer from the same sizes that the launch is passed.",),
        predicts=(("recorded", "the launch reads or writes past the end of the buffer"),),
        kind=MEMORY,
        about="""A buffer is smaller than the launch that uses it needs.

The number of elements that the launch works on is a product of sizes that it was passed; the buffer was allocated from other sizes. The
line to change is often the allocation, or the computation of its size, not the kernel.
""",
    ),
    Cause(
        id="built-for-other-groups",
        title="A kernel was launched in groups of another size than its program was built for",
        refutes_if="The kernel may be launched in groups of any size, and the access goes outside for another reason.",
        fix=("Launch a kernel from a program that was built for these groups.",),
        predicts=(("recorded", "the launch reads or writes past the end of the buffer"),),
        kind=MEMORY,
        about="""A kernel was launched in groups of another size than its program was built for.

A kernel that places its groups by a macro, `get_group_id(0) * TILE`, leaves its buffers if the groups have fewer work-items than TILE. It
happens where a cache of programs has the name of the kernel as its key, but not the build options. A larger buffer hides the crash, and the
results stay wrong.
""",
    ),
    Cause(
        id="struct-layout",
        title="The host and the kernel lay out a struct differently",
        refutes_if="The host's struct has the size and the field offsets that the kernel's struct has.",
        fix=("Give the host's struct the field offsets of the kernel's, with the same types, packing and padding.",),
        fix_of=(("opencl", "cl_float3 and similar types of the host have the sizes that the kernel's vectors have."),),
        predicts=(("checked", "the kernel reads fields at other places than the host wrote them, and leaves the buffer"),),
        kind=MEMORY,
        about="""The host and the kernel lay out a struct differently.

In OpenCL C a float3 takes 16 bytes and every vector is aligned to its size. A host struct with float[3] in its place has other offsets
and another size, so the kernel reads the wrong fields and passes the end of the buffer. A larger allocation does not help.
""",
    ),
    Cause(
        id="division-by-zero",
        title="A kernel divides an integer by zero",
        refutes_if="The divisor at this line is never zero.",
        fix=("Test the divisor before the division, or pass the size or stride that it should have been.",),
        predicts=(("recorded", "results are wrong on some devices, and the program crashes with SIGFPE on others"),),
        kind=IN_KERNEL,
        about="""A kernel divides an integer by zero.

The result is undefined in OpenCL: CPU devices stop the program with SIGFPE; GPUs return an arbitrary number and continue.
""",
    ),
    Cause(
        id="unset-variable",
        title="A kernel reads a variable before it has given it a value",
        refutes_if="Every path gives the variable a value before it is read, or the result does not depend on it.",
        fix=("Give the variable a value where it is declared.",),
        predicts=(("recorded", "results depend on the compiler and on what registers and stacks held before"),),
        kind=FIXED,
        about="""A kernel reads a variable before it has given it a value.

A variable that is set only in a branch or a loop keeps whatever was there where the branch is not taken: zero on one device, another
work-item's number on the next. Nothing outside its own memory is accessed, so that no driver notices.

Example:

    int first, hits = 0;
    for (int i = 0; i < n; i++)
        if (found(i) && !hits++) first = i;
    where[id] = first;                       // of a record without a hit: anything

Fix it by giving the variable a value where it is declared: `int first = -1`.
""",
    ),
    Cause(
        id="arithmetic-wrap",
        title="A sum or product in a kernel does not fit in its type",
        refutes_if="The failure remains with the arithmetic in 64 bits.",
        fix=("Compute the sum or product in a wider type.",),
        predicts=(("recorded", "results are wrong for large numbers although no call fails"),),
        kind=FIXED,
        about="""A sum or product in a kernel does not fit in its type.

A 32-bit integer keeps the low 32 bits of a larger number: a sum of squares of 16-bit pixels passes 4,294,967,295 after two of them.
What is computed from it is wrong, and no driver notices.

Example:

    uint squares = 0;
    for (int i = 0; i < n; i++) squares += pixel[i] * pixel[i];

Fix it by declaring the sum as ulong, and by converting one operand of a product before it is multiplied: `(ulong)a * b`.
""",
    ),
    Cause(
        id="argument-order",
        title="Two arguments of a launch are swapped",
        refutes_if="The failure remains with the two arguments swapped.",
        fix=("Swap the two arguments where they are set.",),
        predicts=(("checked", "the kernel reads a buffer that nothing has written"),),
        kind=FIXED,
        about="""Two arguments of a launch are swapped.

Both have the same type, so no driver notices: two buffers of one size, or a width and a height. The kernel reads a buffer that nothing has
written, leaves a buffer, or computes something other than was meant.
""",
    ),
    Cause(
        id="wrong-number",
        title="A kernel is passed a wrong number",
        refutes_if="The failure remains with the other number passed.",
        fix=("Correct the number where it is computed, or the kernel that takes it for something else.",),
        predicts=(("recorded", "results are wrong although no call fails"),),
        kind=FIXED,
        about="""A kernel is passed a wrong number.

A width is passed for a pitch, a quotient was rounded down, a count is in elements instead of bytes, or a number is one too small. All
accesses stay inside their buffers, so that nothing notices. Runs with other numbers of this program show it: the program fails every time,
and passes with one of them.
""",
    ),
    Cause(
        id="wrong-expression",
        title="An expression in a kernel is wrong",
        refutes_if="The failure remains with the word changed.",
        fix=("Correct the expression in the kernel, or what the host passes to it.",),
        predicts=(("recorded", "results are wrong although no call fails"),),
        kind=FIXED,
        about="""An expression in a kernel is wrong.

Another variable was meant, a comparison leaves one element out, a number is one too large, or a quotient of integers lost its fraction.
All accesses stay inside their buffers, so that nothing notices. Runs in which one word of the kernel is changed show it: the program fails
every time, and passes with the change. The change is a proof that the place matters, not always the best fix.
""",
    ),
    Cause(
        id="offset-in-elements",
        title="The offset of a copy is in elements where bytes are expected",
        refutes_if="The failure remains with the offset multiplied by the size of an element.",
        fix=("Multiply the offset by the size of an element: offsets of copies are in bytes.",),
        predicts=(("recorded", "results are wrong although no call fails"),),
        kind=FIXED,
        about="""The offset of a copy is in elements where bytes are expected.

The copy works on other bytes of the buffer than was meant. They are inside the buffer, so no driver notices.
""",
    ),
    Cause(
        id="wrong-buffer",
        title="A call uses another buffer than was meant",
        refutes_if="The failure remains when this call uses the other buffer.",
        fix=("Pass the buffer that holds what is wanted here.",),
        predicts=(("recorded", "results are wrong although no call fails"),),
        kind=FIXED,
        about="""A transfer or a kernel uses another buffer than was meant.

Both have the same size, so no driver notices: of two buffers that a program uses in turn, the one with the result of the step before; one
that was filled and then forgotten.
""",
    ),
    Cause(
        id="exchanged-copy",
        title="A copy has its source and destination exchanged",
        refutes_if="The failure remains with source and destination exchanged.",
        fix=("Exchange the source and the destination of the copy.",),
        predicts=(("recorded", "results are wrong although no call fails"),),
        kind=FIXED,
        about="""A copy between two buffers has its source and destination exchanged.

It replaces what was to be kept by what was to be replaced. Both buffers are large enough, so no driver notices.
""",
    ),
    Cause(
        id="transfer-pitch",
        title="The row pitch of a transfer is not that of the memory",
        refutes_if="The rows of this memory are as far apart as the pitch says.",
        fix=("Pass the bytes from the start of one row to the start of the next, with padding.",),
        predicts=(("recorded", "results are wrong although no call fails"),),
        kind=FIXED,
        about="""The row pitch of a transfer is not that of the memory.

Each row is taken from, or put, a little more beside its place than the one before. All of it is inside the memory, so no driver notices.
""",
    ),
    Cause(
        id="not-a-number",
        title="A kernel computes NaN or infinity",
        refutes_if="The operands at this line already hold NaN or infinity.",
        fix=(
            "Check the operands at the named line: a division by zero, a logarithm or root of a negative number, or an overflow.",
        ),
        predicts=(("recorded", "results hold NaN or infinity although no call fails"),),
        kind=IN_KERNEL,
        about="""A kernel computes NaN or infinity.

Once made, NaN spreads through every later operation; what the program reports is far from where it began. The place named is
the first one in that work-item.
""",
    ),
    Cause(
        id="device-stack-overflow",
        title="The stack of a kernel's threads overflowed",
        refutes_if="A larger stack limit does not change where the kernel fails.",
        fix=("Bound the recursion, or turn it into a loop; large local arrays belong in global or shared memory.",),
        fix_of=(
            (
                "cuda",
                "If the depth is right, raise the limit before the launch: cudaDeviceSetLimit(cudaLimitStackSize, bytes).",
            ),
            (
                "hip",
                "If the depth is right, raise the limit before the launch: hipDeviceSetLimit(hipLimitStackSize, bytes).",
            ),
        ),
        predicts=(("recorded", "the device reports an illegal address or a stack overflow in this kernel"),),
        kind=FIXED,  # the stack is no buffer: fences around buffers do not see it
        about="""The stack of a kernel's threads overflowed.

Each thread has a stack of fixed size for calls and local arrays. Deep recursion, or large frames, run past it; the device then
reports an illegal address that belongs to no buffer.
""",
    ),
    Cause(
        id="barrier-misuse",
        title="A barrier in a kernel is not reached by all the threads that it waits for",
        refutes_if="Every thread that the barrier counts reaches it, in the same iteration of every loop around it.",
        fix=("Move the barrier out of the branch, and let threads without work skip the work instead of returning.",),
        fix_of=(("cuda", "For a barrier of part of a warp, pass the mask of exactly the threads that reach it."),),
        predicts=(("recorded", "the kernel hangs, fails on the device, or gives wrong results"),),
        kind=IN_KERNEL,
        apart=(
            Prediction("synccheck", "shown", "the tool names the barrier"),
            Prediction("shared-memory", "may show", "the kernel reports lanes that a warp-wide call needs and that are not there"),
        ),
        about="""A barrier in a kernel is not reached by all the threads that it waits for.

A barrier in a branch that only some threads take, or after an early return, is undefined: the kernel hangs, continues
without waiting, or works on one generation of devices and not on the next.
""",
    ),
    Cause(
        id="contract-violated",
        title="A launch breaks a contract that was stated for its kernel",
        refutes_if="Every requirement of the contract holds at this launch.",
        fix=(
            "Trace the values that break the contract back to where the program computes them, and fix them there.",
            "If the kernel can handle these values, the contract is wrong: correct it in its file.",
        ),
        predicts=(("recorded", "the requirement is false at the launches named"),),
        about="""A launch was passed values that the kernel's own contract forbids.
""",
    ),
    Cause(
        id="copy-engines",
        title="The failure depends on the order of copies made by the copy engines",
        refutes_if="The failure is as frequent when kernels make the copies.",
        fix=(
            "Look for a copy without an event or wait between it and the work on the same memory, and for host memory that is "
            "changed or freed before its copy has ended, and synchronize the two.",
            "Until then, copying without the copy engines hides it; copies get slower.",
        ),
        predicts=(("recorded", "it fails in some runs, or results differ from run to run"),),
        settled_by="the copy, and a run in which only this copy is waited for",
        kind=COPIES,
        about="""The failure depends on how copies by the device's copy engines are ordered with other work.

Copy engines run at the same time as kernels. A copy that nothing orders with the work that writes or reads its bytes fails
only while the engines copy. Without the engines the failure is hidden, not fixed.
""",
    ),
    Cause(
        id="device-exception",
        tells="access",
        title="The device stopped a kernel",
        refutes_if="The device's record names another kernel or no exception at all.",
        fix=("Look at the named line with the arguments of the launch shown.",),
        predicts=(("recorded", "the device reports this exception in this launch"),),
        about="""The device stopped a kernel.

The kind of exception, the kernel and the instruction are known from the device's own record; the named line
and the launch's arguments show what led there.
""",
    ),
    Cause(
        id="device-trap",
        title="The kernel executed a trap instruction",
        refutes_if="The device reports another kind of exception at this place.",
        fix=(
            "Read the compiler's warnings for this kernel: code that it can prove to be wrong is replaced by a trap.",
            "If the source has no __trap() or assert at the named line, disassemble the kernel and look for what is missing.",
        ),
        predicts=(("recorded", "the device reports a trap in this launch"),),
        kind=FIXED,
        apart=(Prediction("memcheck", "shown", "the tool names the trap"),),
        about="""The kernel executed a trap instruction.

A trap is an instruction that stops the kernel: written by the programmer, left by a failed assertion, or put there by the
compiler in place of code it could prove to be wrong.
""",
    ),
    Cause(
        id="misaligned-access",
        title="A kernel accessed memory at an address that its type does not allow",
        refutes_if="The address is a multiple of the access's size.",
        fix=("Align the offset on the host, or load with a narrower type in the kernel.",),
        predicts=(("recorded", "the device reports a misaligned address in this launch"),),
        kind=FIXED,
        about="""A kernel accessed memory at an address that its type does not allow.

Loads and stores of 2, 4, 8 or 16 bytes need addresses that are multiples of their size. An odd offset, a cast to a wider
type, or a pointer into the middle of packed data breaks that.
""",
    ),
    Cause(
        id="model-dimensions",
        title="A size or number comes from a default dimension, not from the model's file",
        refutes_if="The size follows from numbers of the file, or the file has the number that was used.",
        fix=(
            "Find where the program gets this number, and read it from the model's file instead.",
            "Search for other uses of the same default: sizes of scratch memory, loops, launch geometry.",
        ),
        predicts=(("recorded", "the size or number follows exactly from the default"),),
        settled_by="a fence next to this memory: `gpudx run --fence`, and `gpudx investigate` where it is a part of a buffer",
        kind=FIXED,
        apart=tuple(
            Prediction(one, "may show", "the launch is stopped at the fence next to this buffer")
            for one in (*FENCES, "parts-fenced")
        ),
        about="""A program used a default dimension where the model's own file says otherwise.

Dimensions are read from the file in one place and assumed in another: a buffer is sized for the model that the code was written
with. Kernels that use the file's numbers then leave the buffer; kernels that use the default skip part of the model.
""",
    ),
    Cause(
        id="order-or-timing",
        tells="timing",
        title="The failure depends on the order or timing of launches on the device",
        refutes_if="The failure is as frequent with a wait after each launch.",
        fix=(
            "Look for two operations on the same memory that no event, queue or wait orders, and synchronize them.",
            "Until then, waiting after each launch hides it, but nothing overlaps any more.",
        ),
        predicts=(("recorded", "it fails in some runs, or at different places"),),
        settled_by="the two operations, and a run in which only these are synchronized",
        kind=ORDER,
        about="""The failure depends on the order or timing of launches on the device.

It fails more or less often with a wait after each launch, with other timing or with another order of threads. This does not show
which two operations must not overlap. A wait is a mitigation, never a cause. Copies are not waited for, so a failure that stays
says nothing about a race between a copy and something else.
""",
    ),
    Cause(
        id="out-of-bounds-access",
        tells="access",
        title="A kernel accessed memory outside the buffer it was passed",
        refutes_if="The access stays inside the buffer, or the part of one, that the argument names.",
        fix=(
            (
                "Guard the index where it can leave the buffer (at a tail, an edge, or by a value from memory), "
                "or allocate what the launch needs."
            ),
            "If the size came from defaults, compute it from the same numbers that the launch uses.",
        ),
        predicts=(("recorded", "the device reports an illegal address in this launch"),),
        settled_by="gpudx run --fence, where each buffer is an allocation of its own",
        settled_of=(("cuda", "gpudx run --sanitize or --dump, which show the address of the access"),),
        kind=MEMORY,
        about="""A kernel accessed memory outside the buffer it was passed.

The device stopped the kernel at the instruction that did it. Whatever reported the error on the host only noticed it.
Either the kernel's index runs past what the host allocated (a stride, a size or a guard is wrong), or the host allocated
less than the launch needs (sizes from another place than the launch's own).
""",
    ),
    Cause(
        id="race-in-kernel",
        title="Threads of a kernel race on the same memory",
        refutes_if="A barrier that both threads pass, or an atomic operation, separates the two accesses.",
        fix=(
            "Put a barrier between the two accesses, where all threads of the group reach it.",
            "Where several threads write one word, use an atomic operation.",
        ),
        fix_of=(
            ("cuda", "The barrier is __syncthreads() for a block, and __syncwarp() for a warp."),
            ("hip", "The barrier is __syncthreads() for a block."),
            ("opencl", "The barrier is barrier(CLK_LOCAL_MEM_FENCE), or CLK_GLOBAL_MEM_FENCE for global memory."),
        ),
        predicts=(("recorded", "results differ between runs although no call fails"),),
        kind=IN_KERNEL,
        apart=(Prediction("racecheck", "shown", "the tool names the two accesses"),),
        about="""Threads of a kernel access the same memory without an order between them, and at least one writes.

Which access comes first changes from run to run, from device to device and with the compiler: the result is right most of
the time. A barrier is missing between the write and the other access, is in a branch that not all threads take, or
the code relies on the threads of a warp running in step.
""",
    ),
    Cause(
        id="stale-executable",
        title="The program that ran was not built from the current sources",
        refutes_if="A fresh build of the same sources has the same build id, or their checksums are those that were compiled.",
        fix=(
            "Build again, from clean, and run the file that this build names.",
            "Compare its build id with `gpudx show CASE identity`; let scripts end when a build fails (set -e).",
        ),
        predicts=(("recorded", "the same old file runs in every run"),),
        settled_by="a run of a fresh build (gpudx investigate --rebuild CMD), or a text that only the sources have (--probe TEXT)",
        kind=PROGRAM,
        about="""The file that ran was not built from its current sources: it is an old build, a committed copy, or a build from elsewhere.
""",
    ),
    Cause(
        id="collective-mismatch",
        title="Ranks of one job issue different collectives",
        refutes_if="The ranks issued the same collectives, with the same sizes, in the same order.",
        fix=(
            "Compare the code paths of the two ranks before the named collective: a condition on the rank, on data or on a batch's size.",
            "Pad or synchronize sizes that depend on a rank's own data before the collective.",
        ),
        predicts=(("recorded", "the job hangs, or ranks read each other's data at the wrong place"),),
        kind=FIXED,
        about="""Two ranks of a communicator issue different collectives as their Nth one: another kind, size, type, operation or root.

NCCL does not check this. The job hangs, crashes, or continues with wrong numbers.
""",
    ),
    Cause(
        id="host-function-data-reused",
        title="The data of a host function was changed before the function had run",
        refutes_if="The function had run, and the program knew it, before its data was changed.",
        fix=("Give each host function data of its own until it has run.",),
        predicts=(("recorded", "the same data is passed to another host function before anything waits for the first"),),
        kind=LIFETIME,
        about="""A host function that is put into a stream runs when the stream reaches it. The program changed the data that it
passed, for the next function, before that.
""",
    ),
    Cause(
        id="circular-wait",
        title="Commands and user events wait for each other",
        refutes_if="The event is completed, and the wait returns, with a larger --timeout.",
        fix=("Let each queue do the work that others wait for before the work that waits for others.",),
        predicts=(("recorded", "a command whose callback completes user events is queued after one that waits for such an event"),),
        kind=FIXED,
        about="""An in-order queue is blocked by a command that waits for a user event. The callback that would complete the event
belongs to a command after it, so neither can continue. Or two queues wait for each other: each for an event that a callback of the other's
command completes. Or two threads do: each completes the other's event, but only behind its own wait.
""",
    ),
    Cause(
        id="rank-missing",
        title="A rank never reached a collective in which the others wait",
        refutes_if="The named rank issued the collective.",
        fix=(
            "Look at what the named rank did after its last collective: a branch that the others did not take, a caught exception, "
            "or a wait of its own.",
        ),
        predicts=(("recorded", "the job hangs in a collective"),),
        kind=FIXED,
        about="""A collective ends only when all ranks of its communicator have issued it. One of them did not, and the others wait.
""",
    ),
    Cause(
        id="threads-collide",
        title="Host threads share something that only one thread may use at a time",
        refutes_if="The failure remains when only one thread makes GPU calls.",
        fix=(
            "Look for what two threads share without a lock: kernel objects, queues, the current device, caches of the program.",
            "Until then, running with one thread hides it.",
        ),
        predicts=(("recorded", "it fails only when several threads make calls"),),
        settled_by="a run with one host thread",
        kind=THREADS,
        about="""Host threads share something that only one thread may use at a time.

A handle, a current device, a cache or the program's own memory: which of them is not known from this alone.
""",
    ),
)
