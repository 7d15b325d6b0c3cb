// NVRTC has `printf` built in, and there is nothing else of it on a device.
