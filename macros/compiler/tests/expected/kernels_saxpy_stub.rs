/// `y[i] += a * x[i]` for `i < n`.
#[derive(::core::clone::Clone, ::core::fmt::Debug)]
pub struct saxpy {
    function: ::thalweg::__private::Its<Self, ::thalweg::__private::Function>,
}
impl saxpy {
    /// Compiles the kernel's source for `device` if needed and finds the kernel in it.
    ///
    /// # Errors
    /// NVRTC is missing, the source does not compile, or has no such kernel; on the simulated
    /// device, the kernel has no host body.
    pub fn load(
        device: &::thalweg::__private::Device,
    ) -> ::thalweg::__private::Result<Self> {
        let function = ::thalweg::__private::Function::load(
            device,
            <Self as ::thalweg::__private::Kernel>::INFO,
        )?;
        ::core::result::Result::Ok(Self {
            function: ::thalweg::__private::Its::new(function),
        })
    }
    /// Enqueues `saxpy` on the launch's stream.
    ///
    /// # Errors
    /// One of these does not hold: `n as usize <= x.len()`, `n as usize <= y.len()`.
    /// The launch exceeds a limit of the device or of the kernel, or the driver refuses it.
    #[allow(unused_variables, reason = "a stub, in place of code with errors")]
    pub fn launch(
        &self,
        launch: ::thalweg::__private::Launch<'_>,
        n: impl ::core::marker::Sized,
        a: impl ::core::marker::Sized,
        x: impl ::core::marker::Sized,
        y: impl ::core::marker::Sized,
    ) -> ::thalweg::__private::Result<()> {
        ::core::unreachable!()
    }
}
#[cfg(feature = "fill")]
#[derive(::core::clone::Clone, ::core::fmt::Debug)]
struct fill {
    function: ::thalweg::__private::Its<Self, ::thalweg::__private::Function>,
}
#[cfg(feature = "fill")]
impl fill {
    /// Compiles the kernel's source for `device` if needed and finds the kernel in it.
    ///
    /// # Errors
    /// NVRTC is missing, the source does not compile, or has no such kernel; on the simulated
    /// device, the kernel has no host body.
    pub fn load(
        device: &::thalweg::__private::Device,
    ) -> ::thalweg::__private::Result<Self> {
        let function = ::thalweg::__private::Function::load(
            device,
            <Self as ::thalweg::__private::Kernel>::INFO,
        )?;
        ::core::result::Result::Ok(Self {
            function: ::thalweg::__private::Its::new(function),
        })
    }
    /// Enqueues `fill` on the launch's stream.
    ///
    /// # Errors
    /// The launch exceeds a limit of the device or of the kernel, or the driver refuses it.
    #[allow(unused_variables, reason = "a stub, in place of code with errors")]
    pub fn launch(
        &self,
        launch: ::thalweg::__private::Launch<'_>,
        value: impl ::core::marker::Sized,
        y: impl ::core::marker::Sized,
    ) -> ::thalweg::__private::Result<()> {
        ::core::unreachable!()
    }
}
const _: () = {
    static MODULE: ::thalweg::__private::KernelModule = ::thalweg::__private::KernelModule::cuda(
        "",
        "",
    );
    impl ::thalweg::__private::Kernel for saxpy {
        const INFO: &'static ::thalweg::__private::KernelInfo = &::thalweg::__private::KernelInfo::new(
                "saxpy",
                &MODULE,
            )
            .on_host();
        unsafe fn from_function(function: ::thalweg::__private::Function) -> Self {
            Self {
                function: ::thalweg::__private::Its::new(function),
            }
        }
    }
    #[cfg(feature = "fill")]
    impl ::thalweg::__private::Kernel for fill {
        const INFO: &'static ::thalweg::__private::KernelInfo = &::thalweg::__private::KernelInfo::new(
            "fill",
            &MODULE,
        );
        unsafe fn from_function(function: ::thalweg::__private::Function) -> Self {
            Self {
                function: ::thalweg::__private::Its::new(function),
            }
        }
    }
};
