/** The part of `s3rver` that the tests use; the package has no types of its own. */
declare module 's3rver' {
  import type { RequestListener } from 'node:http';

  class S3rver {
    constructor(options: {
      directory: string;
      silent: boolean;
      vhostBuckets: boolean;
      configureBuckets: { name: string }[];
    });
    configureBuckets(): Promise<unknown>;
    callback(): RequestListener;
  }
  export = S3rver;
}
