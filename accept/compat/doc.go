// Package compat holds files of an earlier commit, and tests that the current code
// still produces identical results from them when it resumes training, serves
// exports, exports checkpoints and loads configs.
//
// testdata was written by commit 239d0cd; ./remake writes it again. Numbers are
// recorded per SIMD level, because levels round differently, and for two threads.
//
//	testdata/jobs/NAME/job.yaml      a job, and the data that it trains on
//	testdata/jobs/NAME/run           its model_dir after 23 of 40 steps
//	testdata/jobs/NAME/LEVEL.json    losses, metrics and tensors after it continued to step 40
//	testdata/serving/NAME/1          an export of that model_dir
//	testdata/serving/NAME/REQUEST    a request; LEVEL.txt holds the answers to all of them
//	testdata/configs/NAME.yaml       configs/NAME.yaml with all resulting values
package compat
