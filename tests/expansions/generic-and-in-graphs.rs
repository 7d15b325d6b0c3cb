// pub pipeline Scale<T: Pod, const K: usize>
// where
//     T: Into<f64>,
// {
//     param by: f64;
//     inout y: [T; K];
//     chunk c = auto;
//     depth = 4;
//     mode = graph;
//     stage load { copy y -> dy; }
//     stage scale { scale::<T><<<blocks(K * c.len, 256), 256>>>((K * c.len) as u32, by, &mut dy); }
//     stage store { copy dy -> y; }
// }

/// For each chunk, in this order:
///
/// | stage | stream | operation | waits for |
/// | --- | --- | --- | --- |
/// | load | load | `copy y -> dy` | `store_done` of the chunk that used the slot before |
/// | scale | scale | `scale::<T><<<..>>>` | `load_done` |
/// | store | store | `copy dy -> y` | `scale_done` |
///
/// Its first 6 chunks in a ring of 4, if each stage took as long:
///
/// ```text
/// load  L0 L1 L2 L3 L4 L5
/// scale    S0 S1 S2 S3 S4 S5
/// store       T0 T1 T2 T3 T4 T5
/// ```
///
/// L `load`, S `scale`, T `store`; then the number of the chunk.
#[derive(::core::fmt::Debug)]
pub struct Scale<T: Pod, const K: usize>
where
    T: Into<f64>,
{
    pipeline: ::thalweg::__private::Its<Self, ::thalweg::__private::Pipelines>,
    scale_2: ::thalweg::__private::OnEach<scale<T>>,
    elements: ::core::marker::PhantomData<fn() -> (T,)>,
}
impl<T: Pod, const K: usize> Scale<T, K>
where
    T: Into<f64>,
{
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
        by: f64,
        y: impl ::thalweg::InOut<'run, T>,
    ) -> ::thalweg::Result<::thalweg::Report> {
        let done = self.__chunks(::thalweg::__private::Purpose::Run, by, y);
        done.map(|timeline| timeline.report)
    }
    /// Runs the pipeline as `run` does, and says when each operation began and ended.
    ///
    /// # Errors
    /// Those of `run`.
    #[track_caller]
    pub fn profile<'run>(
        &mut self,
        by: f64,
        y: impl ::thalweg::InOut<'run, T>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Profile, by, y)
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
        by: f64,
        y: impl ::thalweg::InOut<'run, T>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Predict, by, y)
            .map(|timeline| *timeline)
    }
    #[track_caller]
    fn __chunks<'run>(
        &mut self,
        purpose: ::thalweg::__private::Purpose,
        by: f64,
        y: impl ::thalweg::InOut<'run, T>,
    ) -> ::thalweg::Result<::std::boxed::Box<::thalweg::Timeline>> {
        let Self { pipeline, scale_2, .. } = self;
        let mut call = ::thalweg::__private::Its::of_mut(pipeline).call(purpose);
        let y = call.inout::<T>(K, y)?;
        let dy = call.device::<T>(K)?;
        (&mut call)
            .repeats([
                ::thalweg::__private::word(&by),
                ::thalweg::__private::word(&K),
                ::thalweg::__private::is_blocks(
                    &blocks,
                    |function, c| function(K * c.len, 256),
                ),
            ]);
        call.run(
            ::thalweg::__private::ChunkSize::Auto,
            |run| {
                let scale_2 = (&*scale_2).of(run);
                let [load, scale, store] = run.streams();
                let [load_done, scale_done, store_done] = run.events();
                for c in run.chunks() {
                    'load: {
                        let copy_y = &run.on(load, 0, c);
                        copy_y.wait_reuse(store_done)?;
                        copy_y.upload(y, dy)?;
                        copy_y.record(load_done)?;
                    }
                    'scale: {
                        let launch_scale = &run.on(scale, 1, c);
                        launch_scale.wait(load_done)?;
                        scale_2
                            .launch(
                                launch_scale.config(blocks(K * c.len, 256), 256, 0),
                                (K * c.len) as u32,
                                by,
                                launch_scale.read_write(dy),
                            )?;
                        launch_scale.record(scale_done)?;
                    }
                    'store: {
                        let copy_dy = &run.on(store, 2, c);
                        copy_dy.wait(scale_done)?;
                        copy_dy.download(dy, y)?;
                        copy_dy.record(store_done)?;
                    }
                }
                ::core::result::Result::Ok(())
            },
        )
    }
}
impl<T: Pod, const K: usize> ::thalweg::__private::Build for Scale<T, K>
where
    T: Into<f64>,
{
    fn build(settings: ::thalweg::__private::Settings<'_>) -> ::thalweg::Result<Self> {
        let pipeline = ::thalweg::__private::Pipelines::new(settings, &Self::PLAN, 4)?
            .with_graph();
        let mut built = Self {
            scale_2: pipeline.load(1)?,
            elements: ::core::marker::PhantomData,
            pipeline: ::thalweg::__private::Its::new(pipeline),
        };
        ::thalweg::__private::Its::of_mut(&mut built.pipeline)
            .reserve(
                ::thalweg::__private::ChunkSize::Auto,
                &[::thalweg::__private::Size::of::<T>(K)],
                &[::thalweg::__private::Size::of::<T>(K)],
            )?;
        ::core::result::Result::Ok(built)
    }
}
impl<T: Pod, const K: usize> Scale<T, K>
where
    T: Into<f64>,
{
    /// The streams, operations and events of this pipeline.
    pub const PLAN: ::thalweg::Plan = ::thalweg::__private::Plan::new(
        "Scale",
        ::core::file!(),
        2,
        22,
        &[
            ::thalweg::__private::StreamPlan::new(
                "load",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
            ::thalweg::__private::StreamPlan::new(
                "scale",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
            ::thalweg::__private::StreamPlan::new(
                "store",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
        ],
        &["load", "scale", "store"],
        &[::thalweg::__private::HostPlan::new("y", true, true, false, 7, 19)],
        &[
            ::thalweg::__private::BufferPlan::new(
                "dy",
                ::thalweg::__private::BufferKind::Ring,
                11,
                36,
            ),
        ],
        &[
            ::thalweg::__private::OperationPlan::new(
                0,
                0,
                "copy y -> dy",
                ::thalweg::__private::OperationKind::Upload {
                    host: 0,
                    buffer: 0,
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
                        ::thalweg::__private::Memory::Buffer(0),
                        false,
                        true,
                    ),
                ],
                11,
                26,
            ),
            ::thalweg::__private::OperationPlan::new(
                1,
                1,
                "scale::<T><<<..>>>",
                ::thalweg::__private::OperationKind::Launch {
                    kernel: "scale::<T>",
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(0),
                        true,
                        true,
                    ),
                ],
                12,
                27,
            ),
            ::thalweg::__private::OperationPlan::new(
                2,
                2,
                "copy dy -> y",
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
                13,
                27,
            ),
        ],
        &[
            ::thalweg::__private::EventPlan::new("load_done", 0),
            ::thalweg::__private::EventPlan::new("scale_done", 1),
            ::thalweg::__private::EventPlan::new("store_done", 2),
        ],
        &[
            ::thalweg::__private::WaitPlan::new(
                1,
                0,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "dy",
                        ::thalweg::__private::Hazard::ReadAfterWrite,
                    ),
                    ::thalweg::__private::HazardPlan::new(
                        "dy",
                        ::thalweg::__private::Hazard::WriteAfterWrite,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                2,
                1,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "dy",
                        ::thalweg::__private::Hazard::ReadAfterWrite,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                0,
                2,
                ::thalweg::__private::Distance::Reuse,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "dy",
                        ::thalweg::__private::Hazard::WriteAfterRead,
                    ),
                ],
            ),
        ],
    );
}
