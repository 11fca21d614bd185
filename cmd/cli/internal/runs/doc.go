// Package runs finds the model_dirs below a folder and tells what became of them:
// their state, steps, metrics, config, time and size.
package runs
