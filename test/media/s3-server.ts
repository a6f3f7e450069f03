import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from 's3rver';
import type { S3Config } from '../../src/http/s3/s3-settings.ts';
import { signatureProblem } from './verify-signature.ts';

/** Answers true when it took the request over; false leaves it to the service. */
export type Intercept = (request: IncomingMessage, response: ServerResponse) => boolean;

export interface S3Server {
  /** Settings for its one bucket, under a prefix. */
  config: S3Config;
  /** `PUT /bucket/key?query` of every request that came. */
  requests: string[];
  /** Bodies that were not those that were signed. */
  falseBodies: string[];
  /** Stands before the service, to make it fail. */
  intercept: Intercept;
  /** Hands a request to the service, past `intercept`. */
  serve: (request: IncomingMessage, response: ServerResponse) => void;
  /** A spool beside it, for media on their way to it. */
  spool: { directory: string };
  /** Names of the objects that the bucket holds, the prefix and all. */
  contents(): Promise<string[]>;
  stop(): Promise<void>;
}

const bucket = 'media-bucket';
const keys = { accessKeyId: 'AKIAOFTHETESTS', secretAccessKey: 'the secret of the tests' };

/** An S3 service on loopback: s3rver, and in front of it a check of signatures and of the hashes of bodies. */
export const startS3Server = async (): Promise<S3Server> => {
  const directory = await mkdtemp(join(tmpdir(), 'causeway-s3-'));
  const folder = join(directory, bucket);
  const s3rver = new S3rver({
    directory,
    silent: true,
    vhostBuckets: false,
    configureBuckets: [{ name: bucket }],
  });
  await s3rver.configureBuckets();
  const passOn = s3rver.callback();

  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const { method = '', url: target = '', headers } = request;
    const problem = signatureProblem({ method, target, headers }, keys);
    if (problem !== null) {
      request.resume();
      answerXml(response, 403, `<Error><Code>${problem}</Code><AWSAccessKeyId>?</AWSAccessKeyId></Error>`);
      return;
    }
    checkBody(request, () => falseBodies.push(`${method} ${target}`));
    // s3rver takes this header for one of its second version, whose hash is another one.
    delete headers['authorization'];
    passOn(request, response);
  };
  const requests: string[] = [];
  const falseBodies: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    if (!s3.intercept(request, response)) serve(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  const s3: S3Server = {
    config: {
      endpoint: `http://127.0.0.1:${port}`,
      bucket,
      prefix: 'some/prefix/',
      region: 'us-east-1',
      ...keys,
    },
    requests,
    falseBodies,
    intercept: () => false,
    serve,
    spool: { directory: join(directory, 'upload-work') },
    contents: async () =>
      (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('._S3rver_object')),
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  return s3;
};

/** Hashes the body as it comes in, whoever reads it. */
const checkBody = (request: IncomingMessage, onFalse: () => void): void => {
  const hash = createHash('sha256');
  const push = request.push.bind(request);
  request.push = (chunk: Buffer | null, encoding) => {
    if (chunk !== null) hash.update(chunk);
    else if (hash.digest('hex') !== request.headers['x-amz-content-sha256']) onFalse();
    return push(chunk, encoding);
  };
};

export const answerXml = (response: ServerResponse, status: number, xml: string): void => {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(`<?xml version="1.0" encoding="UTF-8"?>\n${xml}`);
};
