import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerXml, type S3Server } from '../../media/s3-server.ts';

/**
 * Puts conditional writes before the test service, as AWS documents them: If-None-Match: * and If-Match are 412 when
 * they do not hold, and If-Match without an object is 404. Returns the layer as an interceptor.
 */
export const createConditionalWrites = (s3: Pick<S3Server, 'serve'>) => {
  const tags = new Map<string, string>();
  let line = Promise.resolve();

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url = '', method, headers } = request;
    const tag = tags.get(url);
    const refuse = (status: number, code: string): void => {
      request.resume().once('end', () => answerXml(response, status, `<Error><Code>${code}</Code></Error>`));
    };
    if (headers['if-none-match'] === '*' && tag !== undefined) return refuse(412, 'PreconditionFailed');
    const wanted = headers['if-match'];
    if (wanted !== undefined && tag === undefined) return refuse(404, 'NoSuchKey');
    if (wanted !== undefined && wanted !== tag) return refuse(412, 'PreconditionFailed');
    const closed = once(response, 'close');
    s3.serve(request, response);
    await closed;
    if (method === 'DELETE') tags.delete(url);
    else if (response.statusCode === 200) tags.set(url, String(response.getHeader('etag')));
  };

  /** Writes come one after the other, so that a condition holds until its write is done. */
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.method !== 'PUT' && request.method !== 'DELETE') return false;
    line = line.then(() => handle(request, response)).catch(() => undefined);
    return true;
  };
};
