import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
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
  /** The folder in which the service keeps its buckets. */
  directory: string;
  /** Names of the objects and uploads that the bucket holds, the prefix and all. */
  contents(): Promise<string[]>;
  /** How many uploads under way a page tells of. */
  uploadsPerPage: number;
  /** Begins an upload in parts under a name; answers its folder, whose time is the upload's. */
  beginUpload(name: string): Promise<string>;
  stop(): Promise<void>;
}

const bucket = 'media-bucket';
const keys = { accessKeyId: 'AKIAOFTHETESTS', secretAccessKey: 'the secret of the tests' };

/**
 * An S3 service on loopback: s3rver, and in front of it what it does not do itself, which is to check signatures and the
 * hashes of bodies, to give up an upload, and to list those under way.
 */
export const startS3Server = async (): Promise<S3Server> => {
  const directory = await mkdtemp(join(tmpdir(), 'causeway-s3-'));
  const folder = join(directory, bucket);
  const uploadsFolder = join(folder, '._S3rver_uploads');
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
    void serveUploads({ request, response, uploadsFolder, perPage: s3.uploadsPerPage }).then((isServed) => {
      if (!isServed) passOn(request, response);
    });
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
    directory,
    intercept: () => false,
    serve,
    uploadsPerPage: 1_000,
    beginUpload: async (name) => {
      const path = join(uploadsFolder, randomBytes(16).toString('hex'));
      await mkdir(path, { recursive: true });
      await writeFile(join(path, 'key'), s3.config.prefix + name);
      await writeFile(join(path, 'metadata'), '{}');
      return path;
    },
    contents: async () => {
      const names = await readdir(folder, { recursive: true });
      return [
        ...names.filter((name) => name.endsWith('._S3rver_object')),
        ...(await filesIn(uploadsFolder)).map((name) => `upload ${name}`),
      ];
    },
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

const filesIn = async (folder: string): Promise<string[]> => {
  try {
    return await readdir(folder);
  } catch {
    return [];
  }
};

interface UploadsCall {
  request: IncomingMessage;
  response: ServerResponse;
  uploadsFolder: string;
  perPage: number;
}

const serveUploads = async ({ request, response, uploadsFolder, perPage }: UploadsCall): Promise<boolean> => {
  const { searchParams: query } = new URL(request.url ?? '/', 'http://localhost');
  const uploadId = query.get('uploadId');
  const isKnown = uploadId !== null && (await filesIn(uploadsFolder)).includes(uploadId);
  if (uploadId !== null && !isKnown) {
    request.resume();
    answerXml(response, 404, '<Error><Code>NoSuchUpload</Code><Message>It is not there.</Message></Error>');
    return true;
  }
  if (request.method === 'DELETE' && uploadId !== null) {
    await rm(join(uploadsFolder, uploadId), { recursive: true, force: true });
    response.writeHead(204).end();
    return true;
  }
  if (request.method === 'GET' && query.has('uploads')) {
    const uploads = await listUploads(uploadsFolder, query.get('prefix') ?? '');
    const after = [query.get('key-marker') ?? '', query.get('upload-id-marker') ?? ''].join('\n');
    const left = uploads.filter(({ place }) => place > after);
    const page = left.slice(0, perPage);
    const [nextKey = '', nextId = ''] = page.at(-1)?.place.split('\n') ?? [];
    const next =
      left.length > page.length
        ? `<IsTruncated>true</IsTruncated><NextKeyMarker>${nextKey}</NextKeyMarker>` +
          `<NextUploadIdMarker>${nextId}</NextUploadIdMarker>`
        : '<IsTruncated>false</IsTruncated>';
    const elements = page.map(({ xml }) => xml).join('');
    answerXml(response, 200, `<ListMultipartUploadsResult>${next}${elements}</ListMultipartUploadsResult>`);
    return true;
  }
  return false;
};

interface ListedUpload {
  /** By which pages are ordered: the key and the id, a line each. */
  place: string;
  xml: string;
}

const listUploads = async (uploadsFolder: string, prefix: string): Promise<ListedUpload[]> => {
  const uploads = await Promise.all(
    (await filesIn(uploadsFolder)).map(async (uploadId) => {
      const key = await readFile(join(uploadsFolder, uploadId, 'key'), 'utf8');
      const { mtime } = await stat(join(uploadsFolder, uploadId));
      if (!key.startsWith(prefix)) return [];
      const xml =
        `<Upload><Key>${key}</Key><UploadId>${uploadId}</UploadId><Initiator><ID>1</ID></Initiator>` +
        `<StorageClass>STANDARD</StorageClass><Initiated>${mtime.toISOString()}</Initiated></Upload>`;
      return [{ place: `${key}\n${uploadId}`, xml }];
    }),
  );
  return uploads.flat().sort((one, other) => (one.place < other.place ? -1 : 1));
};

export const answerXml = (response: ServerResponse, status: number, xml: string): void => {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(`<?xml version="1.0" encoding="UTF-8"?>\n${xml}`);
};
