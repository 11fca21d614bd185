// Package bucket reads and writes objects in S3, Google Cloud Storage and Azure Blob Storage by URL: it finds them, lists them, and opens
// them as files with random access.
package bucket
