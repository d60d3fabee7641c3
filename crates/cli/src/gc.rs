//! `kennel gc`: recover lost tasks, remove expired output.

use kennel::{Kennel, OUTPUT_TOTAL_DEFAULT};

use crate::args::GcOptions;
use crate::config;
use crate::fault::Fault;
use crate::render;

/// Collects.
pub(crate) async fn gc(options: &GcOptions) -> Result<u8, Fault> {
    let kennel = Kennel::builder().build().await.map_err(|error| Fault::not_done(&error))?;
    let settings = config::load(&config::here()).map(|config| config.settings);
    let (older_than, total_bytes) = match (options.older_than, settings) {
        (Some(age), settings) => (age, settings.map_or(OUTPUT_TOTAL_DEFAULT, |it| it.output_total.value.0)),
        (None, settings) => {
            let settings = settings.map_err(Fault::into_undone)?;
            (settings.retention.value.0, settings.output_total.value.0)
        }
    };
    let done = kennel.collect(older_than, total_bytes);
    if options.json {
        render::json(&done);
        return Ok(0);
    }
    for id in &done.recovered {
        render::answer(&format!(
            "recovered {id}: its keepers were dead; what was left of it has been ended\n"
        ));
    }
    for problem in &done.unreadable {
        render::note(&format!("left alone: {problem}"));
    }
    render::answer(&format!("{} recovered, {} removed\n", done.recovered.len(), done.removed.len()));
    Ok(0)
}
