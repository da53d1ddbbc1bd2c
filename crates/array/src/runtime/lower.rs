//! Lowering: turns the kernels of a plan into engine tasks, bound to values, with edges to the tasks that produce them.

use crate::observe::origin::Origin;
use crate::observe::trace;
use crate::runtime::devices::{self, has_buffer};
use crate::runtime::flights::Flight;
use crate::runtime::inline_limit;
use crate::runtime::kernel_task::{BoundInput, BoundOutput, KernelTask, Release, Releases};
use crate::runtime::last_good::LastGood;
use crate::runtime::node::Node;
use crate::runtime::planner::Planner;
use crate::runtime::segment::{SegmentBuilder, Submitted};
use crate::runtime::window::Window;
use crate::runtime::{Runtime, count, runtime};
use forerun_base::{DType, Error, Loc, fail_point};
use forerun_engine::{Engine, Need, Status, TaskRef, TaskSpec};
use forerun_plan::{
    Executable, Group, Kernel, Launchable, Plan, PlanOptions, Product, Program, Source, plan, write_key,
};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// Elements above which a task may take longer than about 30 ms on one thread: too long for an interruptible waiter.
const HEAVY: usize = 128 << 20;

/// A plan with its kernels compiled.
pub(crate) struct CachedPlan {
    pub(crate) plan: Plan,
    pub(crate) kernels: Vec<CompiledKernel>,
    /// For each kernel, the input whose buffer each output may reuse.
    pub(crate) donors: Vec<Vec<(usize, usize)>>,
    /// For each kernel, the element size of each input in bytes, as the kernel reads it.
    pub(crate) sizes: Vec<Vec<usize>>,
}

/// A compiled kernel.
pub(crate) enum CompiledKernel {
    Host(Arc<dyn Executable>),
    Device(Arc<dyn Launchable>),
    /// A copy of this many bytes from the host to an accelerator, or back.
    Transfer(usize),
}

impl Planner {
    /// Spawns the tasks of a segment, or runs a short plan at once for a `waiter`. Kept apart from the planning of tiny
    /// records, which must not pay for its setup.
    #[inline(never)]
    pub(crate) fn spawn_tasks(
        &mut self,
        runtime: &Runtime,
        window: &'static Window,
        draft: &SegmentBuilder,
        engine: &Engine,
        waiter: bool,
    ) {
        let options = runtime.plan_options();
        write_key(&draft.records, options, &mut self.key);
        let counters = &runtime.counters;
        count(&counters.segments, 1);
        let cached = match self.plans.get(self.key.as_slice()) {
            Some(cached) => {
                count(&counters.plan_hits, 1);
                cached
            }
            None => {
                count(&counters.plan_misses, 1);
                // A bug in planning fails the segment, not the process.
                match catch_unwind(AssertUnwindSafe(|| make(runtime, draft, options))) {
                    Ok(made) => {
                        self.plans.keep(&self.key, made.clone());
                        made
                    }
                    Err(panic) => return give_up(draft, &Error::panicked("planning", &*panic)),
                }
            }
        };
        let at_once = waiter && inline_limit::runs_at_once(&cached.plan, draft) && engine.runs_short_plan();
        for (g, group) in cached.plan.groups.iter().enumerate() {
            if let Some(flight) = self.bind(window, draft, group, &cached, g, engine, at_once) {
                count(&counters.tasks, 1);
                self.flights.push(flight);
            }
        }
        if cached.plan.dropped > 0 {
            count(&counters.dropped, cached.plan.dropped as u64);
            drop_dead(draft, &cached.plan);
        }
        self.flights.purge();
    }

    /// Binds a kernel of a plan to its values and spawns its task. With `at_once` it runs here if its inputs are ready.
    #[allow(clippy::too_many_arguments, reason = "a segment, a kernel of its plan, and where to run it")]
    fn bind(
        &self,
        window: &'static Window,
        draft: &SegmentBuilder,
        group: &Group,
        cached: &Arc<CachedPlan>,
        g: usize,
        engine: &Engine,
        at_once: bool,
    ) -> Option<Flight> {
        let node_of = |source: Source| match source {
            Source::Record(i) => draft.submitted[i as usize].out(),
            Source::External(i) => draft.externals[i as usize],
        };
        let inputs: SmallVec<[BoundInput; 4]> = group
            .inputs
            .iter()
            .zip(&cached.sizes[g])
            .map(|(operand, size)| BoundInput {
                node: node_of(operand.source),
                bytes: operand.view.map_or(0, |v| draft.offsets[v as usize] as usize * size),
            })
            .collect();
        let outputs: SmallVec<[BoundOutput; 2]> = group
            .outputs
            .iter()
            .map(|&r| {
                let submitted = &draft.submitted[r as usize];
                BoundOutput {
                    node: submitted.out(),
                    generation: submitted.record.generation,
                    bytes: submitted.record.recipe.signature.out.bytes,
                    large: has_buffer(&submitted.record.recipe.signature.out),
                    op: submitted.record.recipe.op().name(),
                    loc: Loc::from_id(submitted.record.loc),
                }
            })
            .collect();
        let scalars = group
            .scalars
            .iter()
            .map(|&(r, word)| draft.submitted[r as usize].record.immediates[word as usize])
            .collect();
        let mut releases = Releases::new();
        for &r in &group.records {
            let submitted = &draft.submitted[r as usize];
            Release::add(&mut releases, submitted.out(), false);
            for operand in &submitted.operands {
                Release::add(&mut releases, operand.node, operand.foreign);
            }
        }
        let mut reads: SmallVec<[&'static Node; 4]> = inputs.iter().map(|i| i.node).collect();
        reads.dedup_by(|a, b| std::ptr::eq(*a, *b));

        let device = devices::of(group.device);
        let mut predecessors: SmallVec<[(TaskRef, Need); 4]> = SmallVec::new();
        let mut after = |task: &TaskRef, need: Need| match predecessors.iter_mut().find(|(p, _)| p.age() == task.age())
        {
            Some((_, known)) => *known = if *known == need { need } else { Need::Settled },
            None => predecessors.push((task.clone(), need)),
        };
        for node in &reads {
            let waits = matches!(node.planned_status(), Status::Pending | Status::Enqueued { .. });
            if let Some(task) = self.flights.maker(node).filter(|_| waits) {
                // Values on the device itself are ordered by its lanes.
                after(task, if node.meta().device == group.device { Need::Enqueued } else { Need::Settled });
            }
        }
        let over = match &group.kernel {
            Kernel::Update(_) => true,
            Kernel::Routine(call) => call.routine.in_place(),
            _ => false,
        };
        if over {
            // Overwriting the base waits for its remaining readers, which is cheaper than copying it.
            self.flights.readers(inputs[0].node).for_each(|task| after(task, Need::Enqueued));
        }
        let source = reads.is_empty();
        // One pass over memory, plus a little for every record fused into it.
        let costs = || group.records.iter().map(|r| draft.submitted[*r as usize].record.recipe.cost);
        let cost = costs().max().unwrap_or(0) + costs().sum::<usize>() / 8;
        let work = KernelTask {
            plan: cached.clone(),
            group: g,
            segment: draft.submitted.clone(),
            inputs,
            outputs,
            scalars,
            releases,
            heavy: cost > HEAVY,
            settled: AtomicBool::new(false),
            device,
            enqueued: OnceLock::new(),
        };
        if at_once && device.is_none() && predecessors.is_empty() {
            if trace::is_on() {
                trace::planned(&draft.submitted, &group.records, 0);
            }
            work.run_at_once();
            return None;
        }
        let makes = work.outputs.iter().map(|o| (o.node, Origin { op: o.op, loc: o.loc })).collect();
        let spec = TaskSpec { work: Box::new(work), source };
        let task = match device {
            None => {
                let predecessors: SmallVec<[TaskRef; 4]> = predecessors.into_iter().map(|(task, _)| task).collect();
                engine.spawn(spec, &predecessors)
            }
            Some(device) => engine.spawn_on(device.number, spec, &predecessors),
        };
        if trace::is_on() {
            trace::planned(&draft.submitted, &group.records, task.age());
        }
        Some(Flight { task, window, start: draft.start, makes, reads })
    }
}

fn make(runtime: &Runtime, draft: &SegmentBuilder, options: PlanOptions) -> Arc<CachedPlan> {
    fail_point!("plan.make");
    let plan = plan(&draft.records, options);
    let kernels = plan.groups.iter().map(|group| compile(runtime, group)).collect();
    let donors = plan.groups.iter().map(donors).collect();
    let sizes = plan.groups.iter().map(|group| match group.kernel {
        Kernel::Transfer(_) => vec![draft.records[group.outputs[0] as usize].signature.out.dtype.size()],
        _ => input_sizes(&group.kernel),
    });
    let sizes = sizes.collect();
    Arc::new(CachedPlan { plan, kernels, donors, sizes })
}

/// Compiles a kernel of a plan for its device.
pub(crate) fn compile(runtime: &Runtime, group: &Group) -> CompiledKernel {
    match (devices::of(group.device), &group.kernel) {
        (None, kernel) => CompiledKernel::Host(runtime.backend.compile(kernel)),
        (Some(_), Kernel::Transfer(bytes)) => CompiledKernel::Transfer(*bytes),
        (Some(device), kernel) => CompiledKernel::Device(device.accelerator.compile(kernel)),
    }
}

/// Fails every result of the segment after a panic in planning.
fn give_up(draft: &SegmentBuilder, error: &Error) {
    draft.submitted.iter().for_each(|submitted| fail(submitted, error.clone()));
}

/// Fails the result of a record that will not run, and ends its uses.
pub(crate) fn fail(submitted: &Submitted, error: Error) {
    let record = &submitted.record;
    let error = runtime().blame(error, record.recipe.op().name(), Loc::from_id(record.loc));
    let last_good = submitted.former().and_then(Node::last_good).map(LastGood::after_failed_write);
    submitted.out().publish_failed(record.generation, error, last_good);
    release(submitted);
}

/// Ends the uses of a record that does not run.
fn release(submitted: &Submitted) {
    let mut releases = Releases::new();
    Release::add(&mut releases, submitted.out(), false);
    for operand in &submitted.operands {
        Release::add(&mut releases, operand.node, operand.foreign);
    }
    releases.iter().for_each(Release::apply);
}

/// Ends the uses of dropped records, which never run.
fn drop_dead(draft: &SegmentBuilder, plan: &Plan) {
    for (i, submitted) in draft.submitted.iter().enumerate() {
        if plan.groups.iter().any(|g| g.records.contains(&(i as u16))) {
            continue;
        }
        release(submitted);
    }
}

/// The element size of each input in bytes, as the kernel reads it.
fn input_sizes(kernel: &Kernel) -> Vec<usize> {
    match kernel {
        Kernel::Pointwise(p) => p.inputs.iter().map(|i| i.dtype.size()).collect(),
        Kernel::Reduce(r) => r.program.inputs.iter().map(|i| i.dtype.size()).collect(),
        Kernel::Product(p) => {
            let tail = p.tail.iter().flat_map(|t| t.inputs[1..].iter().map(|i| i.dtype.size()));
            [p.dtype.size(), p.dtype.size()].into_iter().chain(tail).collect()
        }
        Kernel::Concat(c) => vec![c.dtype.size(); c.inputs.len()],
        Kernel::Update(u) => [Some(u.dtype.size()), u.value.map(|v| v.dtype.size())].into_iter().flatten().collect(),
        Kernel::Take(r) => vec![r.dtype.size(), r.indices.dtype.size()],
        Kernel::ScatterAdd(r) => vec![r.dtype.size(), r.indices.dtype.size(), r.dtype.size()],
        Kernel::Fill(_) => Vec::new(),
        Kernel::Routine(call) => call.inputs.iter().map(|(dtype, _)| dtype.size()).collect(),
        Kernel::Transfer(_) => vec![1],
    }
}

/// For each output, the input whose buffer it may reuse: dense, whole, and of the same element size.
fn donors(group: &Group) -> Vec<(usize, usize)> {
    match &group.kernel {
        Kernel::Pointwise(program) => program_donors(group, program, 0),
        // The product itself is computed in the first output; an epilogue reads inputs whose buffers the others may
        // reuse.
        Kernel::Product(Product { tail: Some(program), .. }) => {
            program_donors(group, program, 1).into_iter().filter(|&(o, i)| o > 0 && i > 1).collect()
        }
        Kernel::Update(_) if group.inputs.len() == 1 || group.inputs[0].source != group.inputs[1].source => {
            vec![(0, 0)]
        }
        Kernel::ScatterAdd(rows)
            if rows.base.is_dense()
                && group.inputs[0].view.is_none()
                && group.inputs[1..].iter().all(|i| i.source != group.inputs[0].source) =>
        {
            vec![(0, 0)]
        }
        Kernel::Routine(call)
            if call.routine.in_place()
                && group.inputs[0].view.is_none()
                && group.inputs[1..].iter().all(|i| i.source != group.inputs[0].source) =>
        {
            vec![(0, 0)]
        }
        _ => Vec::new(),
    }
}

/// The same for a program whose inputs are the kernel's from `first` on. The task decides when it starts which inputs
/// are no longer needed: of a weight and its gradient, usually the weight.
fn program_donors(group: &Group, program: &Program, first: usize) -> Vec<(usize, usize)> {
    let may = |dtype: DType, k: usize| {
        let (input, operand) = (&program.inputs[k], &group.inputs[first + k]);
        let read_once = group.inputs.iter().filter(|x| x.source == operand.source).count() == 1;
        read_once && operand.view.is_none() && input.layout.is_dense() && input.dtype.size() == dtype.size()
    };
    let outputs = program.outputs.iter().enumerate();
    let inputs = 0..program.inputs.len();
    outputs.flat_map(|(o, dtype)| inputs.clone().filter(|k| may(*dtype, *k)).map(move |k| (o, first + k))).collect()
}
