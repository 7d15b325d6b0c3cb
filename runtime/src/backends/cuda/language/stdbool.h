// C++ has `bool` built in.
