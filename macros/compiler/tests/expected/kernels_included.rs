#[derive(::core::clone::Clone, ::core::fmt::Debug)]
struct blur {
    function: ::thalweg::__private::Its<Self, ::thalweg::__private::Function>,
}
impl blur {
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
    /// Enqueues `blur` on the launch's stream.
    ///
    /// # Errors
    /// The launch exceeds a limit of the device or of the kernel, or the driver refuses it.
    pub fn launch(
        &self,
        launch: ::thalweg::__private::Launch<'_>,
        p: Params,
        x: impl ::thalweg::__private::ReadArg<f32>,
        y: impl ::thalweg::__private::ReadWriteArg<f32>,
    ) -> ::thalweg::__private::Result<()> {
        let (x, lender_1) = ::thalweg::__private::ReadArg::lend(x).parts();
        let (y, lender_2) = ::thalweg::__private::ReadWriteArg::lend(y).parts();
        let host = |_: ::thalweg::__private::Grid| ::thalweg::__private::host_body(|| {});
        unsafe {
            launch
                .enqueue(
                    ::thalweg::__private::Its::of(&self.function),
                    &mut [
                        ::thalweg::__private::argument(&p),
                        (&x).argument(),
                        (&y).argument(),
                    ],
                    &[
                        ::core::mem::size_of_val(&p),
                        (&x).argument_size(),
                        (&y).argument_size(),
                    ],
                    (&[(&x).access(), (&y).access()], &[lender_1, lender_2]),
                    &[],
                    &host,
                )
        }
    }
}
///
/// `weights` is the source's variable `weights`.
#[derive(::core::clone::Clone, ::core::fmt::Debug)]
struct twice {
    function: ::thalweg::__private::Its<Self, ::thalweg::__private::Function>,
}
impl twice {
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
    /// Enqueues `twice` on the launch's stream.
    ///
    /// # Errors
    /// The launch exceeds a limit of the device or of the kernel, or the driver refuses it.
    pub fn launch(
        &self,
        launch: ::thalweg::__private::Launch<'_>,
        n: u32,
        y: impl ::thalweg::__private::ReadWriteArg<f64>,
        weights: impl ::thalweg::__private::ReadArg<f32>,
    ) -> ::thalweg::__private::Result<()> {
        let (y, lender_1) = ::thalweg::__private::ReadWriteArg::lend(y).parts();
        let (weights, lender_2) = ::thalweg::__private::ReadArg::lend(weights).parts();
        let host = |_: ::thalweg::__private::Grid| ::thalweg::__private::host_body(|| {});
        unsafe {
            launch
                .enqueue(
                    ::thalweg::__private::Its::of(&self.function),
                    &mut [::thalweg::__private::argument(&n), (&y).argument()],
                    &[::core::mem::size_of_val(&n), (&y).argument_size()],
                    (&[(&y).access(), (&weights).access()], &[lender_1, lender_2]),
                    &[(&weights).access()],
                    &host,
                )
        }
    }
}
const _: () = {
    static MODULE: ::thalweg::__private::KernelModule = ::thalweg::__private::KernelModule::cuda(
            "../cu/blur.cu",
            ::core::include_str!("../cu/blur.cu"),
        )
        .including(
            "cu/blur.cu",
            &[
                ::thalweg::__private::Header {
                    path: "cu/params.cuh",
                    text: ::core::include_str!("../cu/params.cuh"),
                },
                ::thalweg::__private::Header {
                    path: "cu/detail/index.cuh",
                    text: ::core::include_str!("../cu/detail/index.cuh"),
                },
                ::thalweg::__private::Header {
                    path: "src/include/vendor/math.cuh",
                    text: ::core::include_str!("include/vendor/math.cuh"),
                },
                ::thalweg::__private::Header {
                    path: "src/include/vendor/more.cuh",
                    text: ::core::include_str!("include/vendor/more.cuh"),
                },
            ],
            &["src/include"],
        )
        .options(&["--use_fast_math", "-DTILE=16"]);
    impl ::thalweg::__private::Kernel for blur {
        const INFO: &'static ::thalweg::__private::KernelInfo = &::thalweg::__private::KernelInfo::new(
                "blur",
                &MODULE,
            )
            .parameters(&[::core::mem::size_of::<Params>(), 8, 8]);
        unsafe fn from_function(function: ::thalweg::__private::Function) -> Self {
            Self {
                function: ::thalweg::__private::Its::new(function),
            }
        }
    }
    impl ::thalweg::__private::Kernel for twice {
        const INFO: &'static ::thalweg::__private::KernelInfo = &::thalweg::__private::KernelInfo::new(
                "twice",
                &MODULE,
            )
            .parameters(&[4, 8])
            .symbols(&["weights"])
            .symbol_bytes(&[::core::option::Option::Some(100)]);
        unsafe fn from_function(function: ::thalweg::__private::Function) -> Self {
            Self {
                function: ::thalweg::__private::Its::new(function),
            }
        }
    }
    #[cfg(test)]
    ::thalweg::__private::register! {
        < blur as ::thalweg::__private::Kernel > ::INFO
    }
    #[cfg(test)]
    ::thalweg::__private::register! {
        < twice as ::thalweg::__private::Kernel > ::INFO
    }
    const _: () = ::thalweg::__private::same_layout::<
        Params,
    >(
        &[(8, ::core::option::Option::Some(4))],
        "[TW0417]: `Params`",
        "`Params` of ../cu/params.cuh",
        "\nnote: ../cu/params.cuh:4",
    );
};
