package main

import "fmt"

// The weights of a dense layer are functions of a seed and an index, here and in PyTorch.
func Example() {
	x := begin("dense/kernel", []int{3, 2}, 100).tensor()
	fmt.Println(x.Shape, begin("norm/gamma", []int{1}, 101).tensor().Float(0))
	// Output: [3 2] 1
}
