// Package topn orders values as TensorFlow's kernels do where the order is not total: of equals, and of numbers beside NaN, it leaves those
// in the places where the moves of C++'s std::sort and of TensorFlow's gtl::TopN leave them.
package topn
