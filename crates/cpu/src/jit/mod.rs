//! Machine code for pointwise programs: one loop that loads each input once, keeps intermediates in registers, and
//! stores each output once. The results have the same bits as the tile interpreter's.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod absent;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod atoms;
#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
mod bytes;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod casts;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod encode;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod function;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod lower;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod machine_code;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod memory;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod pass;
mod registers;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod schedule;
mod stats;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod table;
mod tier;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod verbs;

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub(crate) use absent::MachineCode;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) use machine_code::MachineCode;
pub(crate) use registers::RegisterMap;
pub use stats::CodeStats;
pub(crate) use tier::Tier;
