import { readdir } from 'node:fs/promises';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import { createS3Media } from '../../../src/media/s3/s3-media.ts';
import { S3Error, type S3Limits } from '../../../src/http/s3/s3-client.ts';
import { createRecordedLog } from '../../limits/recorded-log.ts';
import { newMediaId, readAll } from '../open-test-files.ts';
import { answerXml, startS3Server, type Intercept, type S3Server } from '../s3-server.ts';

const largeBytes = 8 * 1024 ** 2 + 5;
const quick: Partial<S3Limits> = { pauseMs: 1 };

let s3: S3Server;
beforeAll(async () => {
  s3 = await startS3Server();
});
afterAll(async () => s3.stop());
afterEach(() => {
  s3.intercept = () => false;
  s3.requests.length = 0;
});

const open = (limits: Partial<S3Limits> = {}, settings: Partial<S3Server['config']> = {}) =>
  createS3Media(
    { ...s3.config, ...settings },
    { log: silentLog, spool: s3.spool, limits: { ...quick, ...limits } },
  );

const streamOf = async function* (length: number): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < length; sent += 65_536) yield Buffer.alloc(Math.min(65_536, length - sent), 'a');
};

const patient = () => ({ contentType: 'video/mp4', signal: AbortSignal.timeout(20_000) });

/** Takes the first `times` requests that match, and hands the others on. */
const failing = (times: number, matches: RegExp, fail: Intercept): Intercept => {
  let left = times;
  return (request, response) => {
    if (left === 0 || !matches.test(`${request.method} ${request.url}`)) return false;
    left -= 1;
    return fail(request, response);
  };
};

const busy: Intercept = (request, response) => {
  request.resume().once('end', () => answerXml(response, 503, '<Error><Code>SlowDown</Code></Error>'));
  return true;
};
const hangUp: Intercept = (request) => {
  request.socket.destroy();
  return true;
};
const saysNothing: Intercept = () => true;

const thrownBy = async (promise: Promise<unknown>): Promise<S3Error> => {
  const error: unknown = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof S3Error) return error;
  throw new Error('no S3Error was thrown', { cause: error });
};

describe('a bucket', () => {
  it('takes a stream of any size in one request that begins with its size', async () => {
    const files = open();
    for (const length of [0, 100_000, largeBytes]) {
      const sizes: unknown[] = [];
      s3.intercept = (request) => {
        sizes.push(request.headers['content-length']);
        return false;
      };
      s3.requests.length = 0;
      const id = newMediaId();
      expect(await files.write(id, streamOf(length), patient())).toBe(length);
      expect(s3.requests).toEqual([`PUT /${s3.config.bucket}/${s3.config.prefix}${id}`]);
      expect(sizes).toEqual([String(length)]);
    }
    expect(s3.falseBodies).toEqual([]);
    await files.close();
  });

  it('takes no object that is too large for one request, and is not asked', async () => {
    const spool = { ...s3.spool, maxObjectBytes: 100_000 };
    const files = createS3Media(s3.config, { log: silentLog, spool, limits: quick });
    expect(await files.write(newMediaId(), streamOf(100_000), patient())).toBe(100_000);
    s3.requests.length = 0;
    await expect(files.write(newMediaId(), streamOf(100_001), patient())).rejects.toThrow(
      'the medium has more than 100000 bytes',
    );
    expect(s3.requests).toEqual([]);
    await files.close();
  });

  it('keeps the content type with the bytes', async () => {
    const files = open();
    const ids = [newMediaId(), newMediaId()];
    await files.write(ids[0] ?? '', Buffer.alloc(10), patient());
    await files.write(ids[1] ?? '', streamOf(largeBytes), patient());
    for (const id of ids) {
      const answered = Promise.withResolvers<unknown>();
      s3.intercept = (_request, response) => {
        response.once('finish', () => answered.resolve(response.getHeader('content-type')));
        return false;
      };
      expect(await files.size(id)).toBeGreaterThan(0);
      expect(await answered.promise).toBe('video/mp4');
    }
    await files.close();
  });

  it.each([
    ['is busy', busy],
    ['breaks the connection', hangUp],
  ])('is asked again when it %s', async (_what, fail) => {
    const files = open();
    const id = newMediaId();
    for (const source of [Buffer.alloc(largeBytes, 'a'), streamOf(largeBytes)]) {
      s3.intercept = failing(2, /^PUT/, fail);
      expect(await files.write(id, source, patient())).toBe(largeBytes);
    }
    s3.intercept = failing(2, /^GET/, fail);
    expect((await readAll(files, id))?.equals(Buffer.alloc(largeBytes, 'a'))).toBe(true);
    s3.intercept = failing(2, /^HEAD/, fail);
    expect(await files.size(id)).toBe(largeBytes);
    s3.intercept = failing(2, /^DELETE/, fail);
    await files.remove(id);
    expect(await files.size(id)).toBeNull();
    await files.close();
  });

  it('is asked three times at most, and then nothing of the write is left', async () => {
    const files = open();
    const before = await s3.contents();
    for (const source of [Buffer.alloc(10), streamOf(largeBytes)]) {
      let refused = 0;
      s3.intercept = failing(Infinity, /^PUT/, (request, response) => {
        refused += 1;
        return busy(request, response);
      });
      const error = await thrownBy(files.write(newMediaId(), source, patient()));
      expect(error).toMatchObject({ status: 503, code: 'SlowDown' });
      expect(refused).toBe(3);
      expect(await s3.contents()).toEqual(before);
      expect(await readdir(s3.spool.directory)).toEqual([]);
    }
    await files.close();
  });

  it('is not asked again when it refuses', async () => {
    const files = open({}, { secretAccessKey: 'not the key of this account' });
    expect(await thrownBy(files.size(newMediaId()))).toMatchObject({ status: 403, code: null });
    expect(s3.requests).toHaveLength(1);
    expect(await thrownBy(files.read(newMediaId()))).toMatchObject({ code: 'SignatureDoesNotMatch' });
    expect(s3.requests).toHaveLength(2);
    await files.close();
  });

  it('has kept what it stored, also when its answer was lost', async () => {
    const files = open();
    const id = newMediaId();
    s3.intercept = failing(1, /^PUT/, (request, response) => {
      // The service has done its work when it begins its answer.
      response.writeHead = () => {
        request.socket.destroy();
        return response;
      };
      s3.serve(request, response);
      return true;
    });
    expect(await files.write(id, streamOf(largeBytes), patient())).toBe(largeBytes);
    expect(s3.requests.map((line) => line.split(' ')[0])).toEqual(['PUT', 'PUT']);
    expect(await files.size(id)).toBe(largeBytes);
    await files.close();
  });

  it('that does not answer is abandoned after the time limit of an attempt', async () => {
    const files = open({ attemptMs: 500, uploadMs: 500, attempts: 2 });
    s3.intercept = saysNothing;
    expect(await thrownBy(files.size(newMediaId()))).toMatchObject({ status: null });
    expect(await thrownBy(files.remove(newMediaId()))).toMatchObject({ status: null });
    expect(await thrownBy(files.read(newMediaId()))).toMatchObject({ status: null });
    expect(s3.requests).toHaveLength(6);
    s3.intercept = failing(Infinity, /^PUT/, saysNothing);
    // The second is larger than what connections hold, so its upload stands still.
    for (const source of [Buffer.alloc(10), streamOf(4 * largeBytes)])
      expect(await thrownBy(files.write(newMediaId(), source, patient()))).toMatchObject({ status: null });
    await files.close();
  });

  it('that does not answer is abandoned at once when the caller aborts', async () => {
    const files = open();
    s3.intercept = failing(Infinity, /^(?!DELETE)/, saysNothing);
    const reason = new Error('the caller has gone');
    const stopping = (): AbortSignal => {
      const stop = new AbortController();
      setTimeout(() => stop.abort(reason), 20);
      return stop.signal;
    };
    await expect(files.size(newMediaId(), { signal: stopping() })).rejects.toBe(reason);
    await expect(files.read(newMediaId(), { signal: stopping() })).rejects.toBe(reason);
    const written = files.write(newMediaId(), Buffer.alloc(10), {
      contentType: 'image/png',
      signal: stopping(),
    });
    await expect(written).rejects.toBe(reason);
    await files.close();
  });

  it('that falls silent or breaks off within the bytes ends their stream with an error', async () => {
    const files = open({ idleMs: 100 });
    const begins =
      (then: (end: () => void) => void): Intercept =>
      (request, response) => {
        response.writeHead(200, { 'content-length': 1000 });
        response.write('the beginning', () => then(() => request.socket.destroy()));
        return true;
      };
    for (const then of [() => {}, (end: () => void) => end()]) {
      s3.intercept = begins(then);
      await expect(readAll(files, newMediaId())).rejects.toThrow(/timeout|closed|terminated/i);
    }
    await files.close();
  });

  it('that breaks off before anybody listens does not end the process', async () => {
    const files = open();
    s3.intercept = (request, response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('the beginning', () => setTimeout(() => request.socket.destroy(), 20));
      return true;
    };
    const stream = await files.read(newMediaId());
    await expect.poll(() => stream?.closed).toBe(true);
    expect(stream?.errored).toBeInstanceOf(Error);
    await files.close();
  });

  it('that ignores a range is not trusted', async () => {
    const files = open();
    s3.intercept = (_request, response) => {
      response.writeHead(200, { 'content-length': 4 }).end('all!');
      return true;
    };
    await expect(files.read(newMediaId(), { range: { start: 1, end: 2 } })).rejects.toThrow(S3Error);
    await files.close();
  });

  it('that does not exist or cannot be reached is an error, not a missing medium', async () => {
    const absent = open({}, { bucket: 'another-bucket' });
    expect(await thrownBy(absent.read(newMediaId()))).toMatchObject({ code: 'NoSuchBucket' });
    await absent.close();
    const unreachable = open({}, { endpoint: 'http://127.0.0.1:9' });
    await thrownBy(unreachable.read(newMediaId()));
    await thrownBy(unreachable.check({ signal: AbortSignal.timeout(5_000) }));
    await unreachable.close();
  });

  it.each([
    ['a page of a proxy', 'text/html', '<html><body>404 Not Found</body></html>'],
    ['nothing', 'text/plain', ''],
    ['another error', 'application/xml', '<Error><Code>NoSuchRoute</Code></Error>'],
  ])('has not lost a medium of which a 404 with %s is answered', async (_what, contentType, body) => {
    const files = open();
    const id = newMediaId();
    await files.write(id, Buffer.alloc(10), patient());
    s3.intercept = (request, response) => {
      if (request.method !== 'GET' && request.method !== 'HEAD') return false;
      response.writeHead(404, { 'content-type': contentType }).end(request.method === 'GET' ? body : '');
      return true;
    };
    expect(await thrownBy(files.read(id))).toMatchObject({ status: 404 });
    await thrownBy(files.size(id));
    s3.intercept = () => false;
    expect(await files.size(id)).toBe(10);
    await files.close();
  });

  it('does not have its credentials in errors or in the log', async () => {
    const { log, lines } = createRecordedLog();
    const secrets = { accessKeyId: 'AKIAVERYSECRETID', secretAccessKey: 'the-very-secret-key' };
    const errors: unknown[] = [];
    const id = newMediaId();
    for (const endpoint of [s3.config.endpoint, 'http://127.0.0.1:9']) {
      const files = createS3Media(
        { ...s3.config, ...secrets, endpoint },
        { log, spool: s3.spool, limits: quick },
      );
      const signal = AbortSignal.timeout(5_000);
      errors.push(await thrownBy(files.write(id, Buffer.alloc(10), patient())));
      errors.push(await thrownBy(files.write(id, streamOf(largeBytes), patient())));
      errors.push(await thrownBy(files.read(id)));
      errors.push(await thrownBy(files.check({ signal })));
      await files.close();
    }
    for (const error of errors) log.error({ err: error }, 'shown');
    const shown = inspect(errors, { depth: 20, showHidden: true }) + JSON.stringify(lines);
    expect(lines.length).toBeGreaterThan(errors.length);
    expect(shown).toContain('InvalidAccessKeyId');
    for (const hidden of [...Object.values(secrets), 'AWS4-HMAC', id]) expect(shown).not.toContain(hidden);
  });
});
