// Package splitmix is the SplitMix64 generator of random numbers and the hash
// that goes with it (Steele, Lea, Flood: "Fast splittable pseudorandom number
// generators", 2014): one word of state, for what must depend on a seed alone.
package splitmix
