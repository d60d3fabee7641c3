//! `kennel doctor`: what this machine offers and what that protects.

use kennel::Kennel;

use crate::args::DoctorOptions;
use crate::fault::Fault;
use crate::render;

/// Looks.
pub(crate) async fn doctor(options: &DoctorOptions) -> Result<u8, Fault> {
    let kennel = Kennel::builder().build().await.map_err(|error| Fault::not_done(&error))?;
    let probe = kennel.probe();
    if options.json {
        render::json(&probe);
    } else {
        let rows: Vec<Vec<String>> = probe
            .findings
            .iter()
            .map(|finding| {
                let mark = if finding.present { "yes" } else { "no" };
                vec![finding.name.clone(), mark.to_owned(), finding.seen.clone(), finding.means.clone()]
            })
            .collect();
        render::table(&["WHAT", "HERE", "SEEN", "MEANS"], &rows);
    }
    Ok(0)
}
