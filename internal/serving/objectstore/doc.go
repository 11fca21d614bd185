// Package objectstore serves models from buckets of S3, Google Cloud Storage and Azure Blob Storage. It copies the versions to be served
// into a local folder, from which the server loads them like any others.
package objectstore
