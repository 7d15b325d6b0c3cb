// pipeline Transpose {
//     inout m: [f32; 1024];
//     chunk c = 16;
//     stream copies;
//     stream math: priority(-3);
//     stage all on copies {
//         copy m -> d_in;
//         kernels::transpose::<32><<<(32, 32, c.len), (32, 8), 32 * 33 * 4, math>>>(&d_in, out d_out);
//         copy d_out -> m;
//     }
//     device d_out: [f32; 1024];
// }

/// For each chunk, in this order:
///
/// | stage | stream | operation | waits for |
/// | --- | --- | --- | --- |
/// | all | copies | `copy m -> d_in` |  |
/// | all | math | `kernels::transpose::<32><<<..>>>` | `all_d_in_done` |
/// | all | copies | `copy d_out -> m` | `all_transpose_done` |
///
/// Its first 5 chunks in a ring of 3, if each stage took as long:
///
/// ```text
/// copies A0    A0 A1    A1 A2    A2 A3    A3 A4    A4
/// math      A0       A1       A2       A3       A4
/// ```
///
/// A `all`; then the number of the chunk.
#[derive(::core::fmt::Debug)]
struct Transpose {
    pipeline: ::thalweg::__private::Its<Self, ::thalweg::__private::Pipelines>,
    transpose: ::thalweg::__private::OnEach<kernels::transpose<32>>,
}
impl Transpose {
    /// Builds the pipeline, as it is declared, on a device or on several that share its runs.
    ///
    /// # Errors
    /// Those of `Options::build`.
    pub fn new(
        devices: &(impl ::thalweg::Devices + ?::core::marker::Sized),
    ) -> ::thalweg::Result<Self> {
        Self::options(devices).build()
    }
    /// Options to build the pipeline with another chunk or depth than it declares.
    pub fn options(
        devices: &(impl ::thalweg::Devices + ?::core::marker::Sized),
    ) -> ::thalweg::Options<Self> {
        ::thalweg::Options::new(devices)
    }
    /// Runs the pipeline over all items and waits until the results are in place. It is not a future: in
    /// async code, `spawn` returns one.
    ///
    /// # Errors
    /// The arguments' lengths do not fit; memory does not suffice; an operation cannot be enqueued or
    /// fails on the device. The error says where, and how much of each output is complete.
    #[track_caller]
    pub fn run<'run>(
        &mut self,
        m: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Report> {
        let done = self.__chunks(::thalweg::__private::Purpose::Run, m);
        done.map(|timeline| timeline.report)
    }
    /// Runs the pipeline as `run` does, and says when each operation began and ended.
    ///
    /// # Errors
    /// Those of `run`.
    #[track_caller]
    pub fn profile<'run>(
        &mut self,
        m: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Profile, m)
            .map(|timeline| *timeline)
    }
    /// Works out when each operation of such a run would begin and end. Nothing is copied or computed,
    /// and the arguments stay as they are.
    ///
    /// # Errors
    /// Those of `run` about the arguments, the memory and the requirements of launches.
    #[track_caller]
    pub fn predict<'run>(
        &mut self,
        m: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Predict, m)
            .map(|timeline| *timeline)
    }
    #[track_caller]
    fn __chunks<'run>(
        &mut self,
        purpose: ::thalweg::__private::Purpose,
        m: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::std::boxed::Box<::thalweg::Timeline>> {
        let Self { pipeline, transpose } = self;
        let mut call = ::thalweg::__private::Its::of_mut(pipeline).call(purpose);
        let m = call.inout::<f32>(1024, m)?;
        let d_out = call.device::<f32>(1024)?;
        let d_in = call.device::<f32>(1024)?;
        (&mut call).repeats([]);
        call.run(
            ::thalweg::__private::ChunkSize::Items(16),
            |run| {
                let transpose = (&*transpose).of(run);
                let [copies, math] = run.streams();
                let [all_d_in_done, all_transpose_done] = run.events();
                for c in run.chunks() {
                    'all: {
                        let copy_m = &run.on(copies, 0, c);
                        copy_m.upload(m, d_in)?;
                        copy_m.record(all_d_in_done)?;
                        let launch_transpose = &run.on(math, 1, c);
                        launch_transpose.wait(all_d_in_done)?;
                        transpose
                            .launch(
                                launch_transpose
                                    .config((32, 32, c.len), (32, 8), 32 * 33 * 4),
                                launch_transpose.read(d_in),
                                launch_transpose.write(d_out),
                            )?;
                        launch_transpose.record(all_transpose_done)?;
                        let copy_d_out = &run.on(copies, 2, c);
                        copy_d_out.wait(all_transpose_done)?;
                        copy_d_out.download(d_out, m)?;
                    }
                }
                ::core::result::Result::Ok(())
            },
        )
    }
}
impl ::thalweg::__private::Build for Transpose {
    fn build(settings: ::thalweg::__private::Settings<'_>) -> ::thalweg::Result<Self> {
        const _: () = ::core::assert!(
            < kernels::transpose:: < 32 > as ::thalweg::__private::Kernel > ::INFO
            .counts([::thalweg::__private::Constant(32).count(), 1]),
            "[TW0517]: several threads have one index: the kernel does not count all axes of the launch\nhelp: write 1 for the axes that the `Index` does not have, or count them with an `Index<2>` or `Index<3>`\nsee: book/src/errors/TW0517.md"
        );
        const _: () = ::core::assert!(
            < kernels::transpose:: < 32 > as ::thalweg::__private::Kernel > ::INFO
            .counts([::thalweg::__private::Constant(8).count(), 1]),
            "[TW0517]: several threads have one index: the kernel does not count all axes of the launch\nhelp: write 1 for the axes that the `Index` does not have, or count them with an `Index<2>` or `Index<3>`\nsee: book/src/errors/TW0517.md"
        );
        let pipeline = ::thalweg::__private::Pipelines::with_auto_depth(
            settings,
            &Self::PLAN,
        )?;
        let mut built = Self {
            transpose: pipeline.load(1)?,
            pipeline: ::thalweg::__private::Its::new(pipeline),
        };
        ::thalweg::__private::Its::of_mut(&mut built.pipeline)
            .reserve(
                ::thalweg::__private::ChunkSize::Items(16),
                &[::thalweg::__private::Size::of::<f32>(1024)],
                &[
                    ::thalweg::__private::Size::of::<f32>(1024),
                    ::thalweg::__private::Size::of::<f32>(1024),
                ],
            )?;
        ::core::result::Result::Ok(built)
    }
}
impl Transpose {
    /// The streams, operations and events of this pipeline.
    pub const PLAN: ::thalweg::Plan = ::thalweg::__private::Plan::new(
        "Transpose",
        ::core::file!(),
        2,
        18,
        &[
            ::thalweg::__private::StreamPlan::new(
                "copies",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
            ::thalweg::__private::StreamPlan::new(
                "math",
                ::thalweg::__private::Priority::Level(-3i32),
                false,
                false,
                false,
            ),
        ],
        &["all"],
        &[::thalweg::__private::HostPlan::new("m", true, true, false, 3, 19)],
        &[
            ::thalweg::__private::BufferPlan::new(
                "d_out",
                ::thalweg::__private::BufferKind::Ring,
                12,
                20,
            ),
            ::thalweg::__private::BufferPlan::new(
                "d_in",
                ::thalweg::__private::BufferKind::Ring,
                8,
                27,
            ),
        ],
        &[
            ::thalweg::__private::OperationPlan::new(
                0,
                0,
                "copy m -> d_in",
                ::thalweg::__private::OperationKind::Upload {
                    host: 0,
                    buffer: 1,
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Host(0),
                        true,
                        false,
                    ),
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(1),
                        false,
                        true,
                    ),
                ],
                8,
                17,
            ),
            ::thalweg::__private::OperationPlan::new(
                0,
                1,
                "kernels::transpose::<32><<<..>>>",
                ::thalweg::__private::OperationKind::Launch {
                    kernel: "kernels::transpose::<32>",
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(1),
                        true,
                        false,
                    ),
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(0),
                        false,
                        true,
                    ),
                ],
                9,
                17,
            ),
            ::thalweg::__private::OperationPlan::new(
                0,
                0,
                "copy d_out -> m",
                ::thalweg::__private::OperationKind::Download {
                    host: 0,
                    buffer: 0,
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Host(0),
                        false,
                        true,
                    ),
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(0),
                        true,
                        false,
                    ),
                ],
                10,
                17,
            ),
        ],
        &[
            ::thalweg::__private::EventPlan::new("all_d_in_done", 0),
            ::thalweg::__private::EventPlan::new("all_transpose_done", 1),
        ],
        &[
            ::thalweg::__private::WaitPlan::new(
                1,
                0,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "d_in",
                        ::thalweg::__private::Hazard::ReadAfterWrite,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                2,
                1,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "d_out",
                        ::thalweg::__private::Hazard::ReadAfterWrite,
                    ),
                ],
            ),
        ],
    );
}
