//! Records what a program does under its own load, and checks it afterwards. This one uses a map of
//! the standard library behind a lock; a client of a database would look the same.

use seriatim::harness::Recorder;
use std::collections::HashMap;
use std::error::Error;
use std::sync::Mutex;

fn main() -> Result<(), Box<dyn Error>> {
    let map: Mutex<HashMap<i64, i64>> = Mutex::default();
    let recorder = Recorder::new();
    let (put, get) = (recorder.method("put"), recorder.method("get"));
    std::thread::scope(|scope| {
        for client in 0..3 {
            // Each client has its own log; dropping the log hands it over to the recorder.
            let (mut log, map) = (recorder.log(client), &map);
            scope.spawn(move || {
                for round in 0..100 {
                    let (key, value) = (round % 5, client * 1000 + round);
                    log.call(put, vec![key, value]);
                    map.lock().expect("nobody panics").insert(key, value);
                    log.ret(());
                    log.record(get, key, || map.lock().expect("nobody panics").get(&key).copied());
                }
            });
        }
    });
    let history = recorder.history("map")?;
    print!("{}", seriatim::check(&history, "map")?);
    Ok(())
}
