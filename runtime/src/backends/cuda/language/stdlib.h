// NVRTC has `malloc`, `free` and `abs` built in, and there is nothing else of it on a device.
