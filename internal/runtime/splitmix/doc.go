// Package splitmix is the SplitMix64 random number generator and its hash
// (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
// It has one word of state, and its numbers depend only on a seed.
package splitmix
