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
    pub fn launch(
        &self,
        launch: ::thalweg::__private::Launch<'_>,
        n: u32,
        a: f32,
        x: impl ::thalweg::__private::ReadArg<f32>,
        y: impl ::thalweg::__private::ReadWriteArg<f32>,
    ) -> ::thalweg::__private::Result<()> {
        let (x, lender_2) = ::thalweg::__private::ReadArg::lend(x).parts();
        let (y, lender_3) = ::thalweg::__private::ReadWriteArg::lend(y).parts();
        (&launch).follows([::thalweg::__private::word(&n)]);
        (&launch)
            .requires(
                (|| n as usize <= x.len())(),
                "saxpy",
                "n as usize <= x.len()",
                |values| {
                    values.add("n", n).add("x.len()", x.len());
                },
            )?;
        (&launch)
            .requires(
                (|| n as usize <= y.len())(),
                "saxpy",
                "n as usize <= y.len()",
                |values| {
                    values.add("n", n).add("y.len()", y.len());
                },
            )?;
        let host = move |grid: ::thalweg::__private::Grid| {
            ::thalweg::__private::host_body(move || {
                let x: &[f32] = unsafe { (&x).slice() };
                let y: &mut [f32] = unsafe { (&y).slice_mut() };
                ::thalweg::__private::for_each(
                    grid,
                    |at| saxpy_on_host(at, n, a, x, &mut *y),
                );
            })
        };
        unsafe {
            launch
                .enqueue(
                    ::thalweg::__private::Its::of(&self.function),
                    &mut [
                        ::thalweg::__private::argument(&n),
                        ::thalweg::__private::argument(&a),
                        (&x).argument(),
                        (&y).argument(),
                    ],
                    &[
                        ::core::mem::size_of_val(&n),
                        ::core::mem::size_of_val(&a),
                        (&x).argument_size(),
                        (&y).argument_size(),
                    ],
                    (&[(&x).access(), (&y).access()], &[lender_2, lender_3]),
                    &[],
                    &host,
                )
        }
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
    pub fn launch(
        &self,
        launch: ::thalweg::__private::Launch<'_>,
        value: f32,
        y: impl ::thalweg::__private::WriteArg<f32>,
    ) -> ::thalweg::__private::Result<()> {
        let (y, lender_1) = ::thalweg::__private::WriteArg::lend(y).parts();
        let host = |_: ::thalweg::__private::Grid| ::thalweg::__private::host_body(|| {});
        unsafe {
            launch
                .enqueue(
                    ::thalweg::__private::Its::of(&self.function),
                    &mut [::thalweg::__private::argument(&value), (&y).argument()],
                    &[::core::mem::size_of_val(&value), (&y).argument_size()],
                    (&[(&y).access()], &[lender_1]),
                    &[],
                    &host,
                )
        }
    }
}
const _: () = {
    static MODULE: ::thalweg::__private::KernelModule = ::thalweg::__private::KernelModule::cuda(
        "saxpy.cu",
        ::core::include_str!("saxpy.cu"),
    );
    impl ::thalweg::__private::Kernel for saxpy {
        const INFO: &'static ::thalweg::__private::KernelInfo = &::thalweg::__private::KernelInfo::new(
                "saxpy",
                &MODULE,
            )
            .parameters(&[4, 4, 8, 8])
            .launch_bounds(256u32)
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
            )
            .parameters(&[4, 8]);
        unsafe fn from_function(function: ::thalweg::__private::Function) -> Self {
            Self {
                function: ::thalweg::__private::Its::new(function),
            }
        }
    }
    #[cfg(test)]
    ::thalweg::__private::register! {
        < saxpy as ::thalweg::__private::Kernel > ::INFO
    }
    #[cfg(feature = "fill")]
    #[cfg(test)]
    ::thalweg::__private::register! {
        < fill as ::thalweg::__private::Kernel > ::INFO
    }
};
