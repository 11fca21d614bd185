// Package config reads the config file of a job. It composes the sections that other
// packages own (inputs, feature columns, optimizer, run, strategy, connections) with
// the sections of the command line, and lays --set over the environment over TF_CONFIG over
// the file over the defaults.
//
// Everything that is wrong is reported at once, as a [*runconfig.ViolationsError]
// whose entries name the key, the value found, what was expected and where it is.
package config
