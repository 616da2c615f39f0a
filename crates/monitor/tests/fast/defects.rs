//! Defects of other tools, each as a history that we judge rightly.
