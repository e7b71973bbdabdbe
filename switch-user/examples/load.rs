use fabric_core::policy::*; use switch_user::{program::SwitchProgram, tables::Capacity};
fn main() { for _ in 0..3 { let t=std::time::Instant::now(); let r = SwitchProgram::load(Capacity{ports:8,hosts:8,slots:1<<15}, Policy::new(ThresholdScheme::Dynamic, MarkingScheme::AtDequeue)); 
 match r { Ok(_) => println!("ok {:?}", t.elapsed()), Err(e) => {println!("{e:?}"); return} } } }
