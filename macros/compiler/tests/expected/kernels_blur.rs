/// Blurs.
///
/// `blur<float, 128>` in the source. `w` is the source's variable `weights`. Launched in clusters of 2 x 1 x 1 blocks. A cooperative launch: all blocks are on the device at once.
#[derive(::core::clone::Clone, ::core::fmt::Debug)]
pub struct blur {
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
        y: impl ::thalweg::__private::WriteArg<f32>,
        w: impl ::thalweg::__private::ReadArg<f32>,
    ) -> ::thalweg::__private::Result<()> {
        let (x, lender_1) = ::thalweg::__private::ReadArg::lend(x).parts();
        let (y, lender_2) = ::thalweg::__private::WriteArg::lend(y).parts();
        let (w, lender_3) = ::thalweg::__private::ReadArg::lend(w).parts();
        let host = move |grid: ::thalweg::__private::Grid| {
            let body = move || {
                let x: &[f32] = unsafe { (&x).slice() };
                let y: &mut [f32] = unsafe { (&y).slice_mut() };
                let w: &[f32] = unsafe { (&w).slice() };
                ::thalweg::__private::for_each(
                    grid,
                    |at| blur_on_host(at, p, x, &mut *y, w),
                );
            };
            unsafe {
                ::thalweg::__private::whole_body(
                    grid,
                    &[(&y).promise("y")],
                    &[(&x).access(), (&y).access(), (&w).access()],
                    body,
                )
            }
        };
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
                    (
                        &[(&x).access(), (&y).access(), (&w).access()],
                        &[lender_1, lender_2, lender_3],
                    ),
                    &[(&w).access()],
                    &host,
                )
        }
    }
}
const _: () = {
    static MODULE: ::thalweg::__private::KernelModule = ::thalweg::__private::KernelModule::cuda(
            "blur.cu",
            ::core::include_str!("blur.cu"),
        )
        .options(&["-std=c++20"])
        .instances(&["blur<float, 128>"]);
    impl ::thalweg::__private::Kernel for blur {
        const INFO: &'static ::thalweg::__private::KernelInfo = &::thalweg::__private::KernelInfo::new(
                "blur",
                &MODULE,
            )
            .instance("blur<float, 128>")
            .parameters(&[::core::mem::size_of::<Params>(), 8, 8])
            .symbols(&["weights"])
            .symbol_bytes(&[::core::option::Option::Some(100)])
            .launch_bounds(128u32)
            .cluster([2u32, 1u32, 1u32])
            .cooperative()
            .on_host();
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
    const _: () = ::thalweg::__private::same_layout::<
        Params,
    >(
        &[(8, ::core::option::Option::Some(4))],
        "[TW0417]: `Params`",
        "`Params` of blur.cu",
        "\nnote: blur.cu:1",
    );
};
