//! Captures: the ops that a function submitted, recorded once and replayed on other inputs in one call.
//!
//! A program refers to arrays by slot: an input, an outside array (a parameter, read at the time of the replay), or the
//! result of an earlier step. It replays the submitted ops, not the control flow: a function that read a value while it
//! was captured, ran backward, or wrote to its inputs gives no program.

use crate::array::attachments;
use crate::array::{Arg, Array};
use crate::observe::observers::{ObservedOp, Observer, add_observer, remove_observer};
use crate::ops::{assign, copy, redraw, repoint};
use crate::runtime::recipe::Recipe;
use crate::runtime::submit::{SubmitInput, submit, submit_write};
use crate::runtime::window::window;
use forerun_base::{Error, ErrorKind, Loc, Result};
use forerun_plan::{Meta, Signature};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Where an array of a captured program comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CapturedSlot {
    /// An input of the program.
    Input(usize),
    /// An array that existed before: see [`CapturedProgram::outside`].
    Outside(usize),
    /// The result of the step with this number among those that make a new array.
    Result(usize),
}

/// An array as a step of a captured program refers to it.
#[derive(Clone)]
pub struct CapturedPlace {
    /// Where it comes from.
    pub slot: CapturedSlot,
    /// Its dtype and layout.
    pub meta: Arc<Meta>,
    /// The position of its first element in the array that it is a view of.
    pub offset: u64,
    /// Whether no gradient flows back through it.
    pub detached: bool,
}

/// A step of a captured program.
pub struct CapturedStep<'a> {
    /// Op, metas and attributes.
    pub signature: &'a Signature,
    /// The inputs.
    pub operands: &'a [CapturedPlace],
    /// Scalars in the computation dtype, offsets, random keys.
    pub immediates: [u64; 2],
    /// The array that it writes; `None` if it makes a new one.
    pub writes: Option<CapturedSlot>,
    /// The user's line.
    pub loc: Loc,
}

struct Step {
    recipe: Arc<Recipe>,
    operands: Vec<CapturedPlace>,
    immediates: [u64; 2],
    /// The cell it writes; `None` for a new array.
    writes: Option<CapturedPlace>,
    loc: Loc,
    /// Results that no later step reads.
    last_use_of: Vec<usize>,
}

/// The ops that a function submitted, for replay.
pub struct CapturedProgram {
    inputs: Vec<Arc<Meta>>,
    outside: Vec<Array>,
    /// Shared with the windows of the threads that replay it, until the records they submitted are done.
    steps: Arc<Vec<Step>>,
    outputs: Vec<CapturedPlace>,
    results: usize,
}

#[derive(Default)]
struct SegmentBuilder {
    /// Every array seen, inputs first, kept alive so that no other array gets its cell meanwhile.
    kept: Vec<Array>,
    slots: HashMap<usize, CapturedSlot>,
    outside: Vec<Array>,
    steps: Vec<Step>,
    results: usize,
    unfit: bool,
    /// Indices of the inputs that were written.
    written: Vec<usize>,
}

impl SegmentBuilder {
    fn place(&mut self, array: &Array) -> CapturedPlace {
        let known = self.slots.get(&array.cell_id()).copied();
        let slot = known.unwrap_or_else(|| {
            self.outside.push(array.plain_base());
            let slot = CapturedSlot::Outside(self.outside.len() - 1);
            self.slots.insert(array.cell_id(), slot);
            slot
        });
        // Each replay decides whether its inputs are detached.
        let given = matches!(slot, CapturedSlot::Input(i) if self.kept[i].is_detached());
        CapturedPlace {
            slot,
            meta: array.meta().share(),
            offset: array.offset(),
            detached: array.is_detached() && !given,
        }
    }
}

/// A capture in progress, on the thread that began it.
pub struct Capture {
    draft: RefCell<SegmentBuilder>,
    inputs: Vec<Arc<Meta>>,
}

impl Observer for Capture {
    fn submitted(&self, note: &ObservedOp<'_>) {
        let mut draft = self.draft.borrow_mut();
        let operands = note.inputs.iter().map(|x| draft.place(x)).collect();
        let writes = note.in_place.then(|| draft.place(&note.target.base()));
        match &writes {
            Some(CapturedPlace { slot: CapturedSlot::Input(i), .. }) => {
                draft.unfit = true;
                draft.written.push(*i);
            }
            Some(_) => {}
            None => {
                let slot = CapturedSlot::Result(draft.results);
                draft.slots.insert(note.target.cell_id(), slot);
                draft.results += 1;
                draft.kept.push(note.target.base());
            }
        }
        let (recipe, immediates, loc) = (note.recipe.share(), note.immediates, note.loc);
        draft.steps.push(Step { recipe, operands, immediates, writes, loc, last_use_of: Vec::new() });
    }

    fn unrepeatable(&self) {
        self.draft.borrow_mut().unfit = true;
    }
}

/// Inputs in the form that programs take: whole arrays, not views.
pub fn whole_inputs(inputs: &[&Array], loc: Loc) -> Result<Vec<Array>> {
    inputs.iter().map(|x| if x.is_view() { copy(x, loc) } else { Ok((*x).clone()) }).collect()
}

/// Copies writes to the arrays that [`whole_inputs`] made from views back to the views.
pub fn write_back(given: &[&Array], whole: &[Array], written: &[usize], loc: Loc) -> Result<()> {
    for &i in written.iter().filter(|&&i| given[i].is_view()) {
        assign(given[i], Arg::Array(&whole[i]), loc)?;
    }
    Ok(())
}

impl Capture {
    /// Records what the calling thread submits from now on. `inputs` come from [`whole_inputs`].
    pub fn begin(inputs: &[Array]) -> Rc<Capture> {
        let mut draft = SegmentBuilder::default();
        for (i, input) in inputs.iter().enumerate() {
            // If two inputs share a cell, reads cannot be attributed to one of them.
            draft.unfit |= draft.slots.insert(input.cell_id(), CapturedSlot::Input(i)).is_some();
            draft.kept.push(input.clone());
        }
        let metas = inputs.iter().map(|x| x.meta().share()).collect();
        let capture = Rc::new(Capture { draft: RefCell::new(draft), inputs: metas });
        add_observer(capture.clone());
        capture
    }

    /// Indices of the inputs written so far. See [`write_back`].
    pub fn written(&self) -> Vec<usize> {
        self.draft.borrow().written.clone()
    }

    /// Ends the capture without a program.
    pub fn abandon(self: &Rc<Self>) {
        let observer: Rc<dyn Observer> = self.clone();
        remove_observer(&observer);
    }

    /// Ends the capture; returns `None` if the submissions cannot be replayed.
    pub fn finish(self: Rc<Self>, outputs: &[&Array]) -> Option<CapturedProgram> {
        self.abandon();
        let mut draft = std::mem::take(&mut *self.draft.borrow_mut());
        if draft.unfit {
            return None;
        }
        let outputs: Vec<CapturedPlace> = outputs.iter().map(|y| draft.place(y)).collect();
        note_last_uses(&mut draft.steps, &outputs, draft.results);
        Some(CapturedProgram {
            inputs: self.inputs.clone(),
            outside: draft.outside,
            steps: Arc::new(draft.steps),
            outputs,
            results: draft.results,
        })
    }
}

/// Drops results as early as the function itself would have, because values without handles can be fused or dropped.
fn note_last_uses(steps: &mut [Step], outputs: &[CapturedPlace], results: usize) {
    let mut needed = vec![false; results];
    for place in outputs {
        if let CapturedSlot::Result(r) = place.slot {
            needed[r] = true;
        }
    }
    let mut made = results;
    for step in steps.iter_mut().rev() {
        let own = step.writes.is_none().then(|| {
            made -= 1;
            made
        });
        let read = step.operands.iter().chain(&step.writes).filter_map(|p| match p.slot {
            CapturedSlot::Result(r) => Some(r),
            CapturedSlot::Input(_) | CapturedSlot::Outside(_) => None,
        });
        for r in own.into_iter().chain(read) {
            if !needed[r] {
                needed[r] = true;
                step.last_use_of.push(r);
            }
        }
    }
}

impl CapturedProgram {
    /// Submits every step again with other inputs. Random numbers are drawn anew.
    pub fn replay(&self, inputs: &[&Array], loc: Loc) -> Result<Vec<Array>> {
        let replayed = self.submit_steps(inputs, loc);
        // The program may be dropped before the submitted records are done.
        window().keep_alive(&self.steps);
        replayed
    }

    fn submit_steps(&self, inputs: &[&Array], loc: Loc) -> Result<Vec<Array>> {
        let inputs = whole_inputs(inputs, loc)?;
        let fits = inputs.len() == self.inputs.len()
            && inputs.iter().zip(&self.inputs).all(|(x, meta)| std::ptr::eq(x.meta(), &**meta));
        if !fits {
            let text = "the inputs of a replay must have the shapes and dtypes of the capture";
            return Err(Error::new(ErrorKind::Value, text).in_op("replay"));
        }
        let mut results: Vec<Option<Array>> = Vec::with_capacity(self.results);
        for step in self.steps.iter() {
            let operands: Vec<Array> = step.operands.iter().map(|p| self.at(p, &inputs, &results)).collect();
            let operands: Vec<SubmitInput<'_>> = operands.iter().map(Array::input).collect();
            let immediates = redraw(&step.recipe.signature, step.immediates);
            match &step.writes {
                None => results.push(Some(submit(step.recipe.submitted(), &operands, immediates, step.loc))),
                Some(place) => {
                    let x = self.at(place, &inputs, &results);
                    attachments::before_write(&x, step.recipe.op().name())?;
                    repoint(&x, submit_write(step.recipe.submitted(), &operands, immediates, step.loc, &x));
                }
            }
            for &r in &step.last_use_of {
                results[r] = None;
            }
        }
        Ok(self.outputs.iter().map(|p| self.at(p, &inputs, &results)).collect())
    }

    fn at(&self, place: &CapturedPlace, inputs: &[Array], results: &[Option<Array>]) -> Array {
        let array = match place.slot {
            CapturedSlot::Input(i) => &inputs[i],
            CapturedSlot::Outside(i) => &self.outside[i],
            CapturedSlot::Result(i) => results[i].as_ref().expect("a result is kept until its last use"),
        };
        let seen = array.view_as(&place.meta, place.offset);
        if place.detached { seen.detach() } else { seen }
    }

    /// Dtype, layout and device of each input.
    pub fn inputs(&self) -> &[Arc<Meta>] {
        &self.inputs
    }

    /// The arrays that existed before the capture and that the steps read or write.
    pub fn outside(&self) -> &[Array] {
        &self.outside
    }

    /// The steps, in order.
    pub fn steps(&self) -> impl Iterator<Item = CapturedStep<'_>> {
        self.steps.iter().map(|step| CapturedStep {
            signature: &step.recipe.signature,
            operands: &step.operands,
            immediates: step.immediates,
            writes: step.writes.as_ref().map(|place| place.slot),
            loc: step.loc,
        })
    }

    /// The arrays that a replay returns.
    pub fn outputs(&self) -> &[CapturedPlace] {
        &self.outputs
    }

    /// The number of ops.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}
