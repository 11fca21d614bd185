// Package runs finds the model_dirs below a folder and reads their state, steps,
// metrics, config, time and size.
package runs
