// Package lower turns Gorgonia expression graphs into the intermediate
// representation, once, after differentiation. Ops that implement Op lower
// themselves. A table translates Gorgonia's built-in ops, and refuses by name the
// ops that compute wrong results in the required version.
package lower
