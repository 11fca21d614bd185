// Package topn orders values as TensorFlow's kernels do even where the order is not total: it moves equal values, and numbers
// beside NaN, exactly as C++'s std::sort and TensorFlow's gtl::TopN do.
package topn
