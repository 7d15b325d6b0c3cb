// NVRTC has `memcpy` and `memset` built in, and there is nothing else of it on a device.
