"""Calls after which work that no record shows may write host memory."""

UNSEEN = (
    *("clSetEventCallback", "clEnqueueNativeKernel", "clSVMAlloc", "clEnqueueMapBuffer", "clEnqueueMapImage"),
    *(
        "cuLaunchHostFunc",
        "cuStreamAddCallback",
        "cuGraphLaunch",
        "hipLaunchHostFunc",
        "hipStreamAddCallback",
        "hipGraphLaunch",
    ),
)
