// Package compat holds files of an earlier commit, and tests that the present one
// continues with them, bit for bit. It resumes training, serves exports, exports
// checkpoints and loads configs.
//
// testdata was written by commit 239d0cd; ./remake does it again. Numbers are
// recorded for each SIMD level, as levels round differently, and for two threads.
//
//	testdata/jobs/NAME/job.yaml      a job, and the data that it trains on
//	testdata/jobs/NAME/run           its model_dir after 23 of 40 steps
//	testdata/jobs/NAME/LEVEL.json    losses, metrics and tensors when it had gone on to 40
//	testdata/serving/NAME/1          an export of that model_dir
//	testdata/serving/NAME/REQUEST    a request, LEVEL.txt the answers to all of them
//	testdata/configs/NAME.yaml       configs/NAME.yaml with every value that it leads to
package compat
