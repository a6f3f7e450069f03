import { createHash, createHmac } from 'node:crypto';

export interface SignedRequest {
  method: string;
  /** Path and query, as sent. */
  target: string;
  headers: Record<string, string | string[] | undefined>;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const encode = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/**
 * What S3 says of a request's signature of version 4 in its Authorization header ("Authenticating Requests: Using the
 * Authorization Header"): null when it is right, else S3's code.
 */
export const signatureProblem = (
  { method, target, headers }: SignedRequest,
  keys: { accessKeyId: string; secretAccessKey: string },
): string | null => {
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8}\/[^/]+\/s3\/aws4_request), ?SignedHeaders=([^,]+), ?Signature=(\w+)$/;
  const [, keyId, scope = '', signedHeaders = '', signature] =
    pattern.exec(String(headers['authorization'])) ?? [];
  if (keyId === undefined) return 'AccessDenied';
  if (keyId !== keys.accessKeyId) return 'InvalidAccessKeyId';
  const names = signedHeaders.split(';');
  const mustBeSigned = ['host', ...Object.keys(headers).filter((name) => name.startsWith('x-amz-'))];
  if (!mustBeSigned.every((name) => names.includes(name))) return 'AccessDenied';
  const [path = '', query = ''] = target.split('?');
  const canonicalQuery = [...new URLSearchParams(query)]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
  const canonicalRequest = [
    method,
    decodeURIComponent(path).split('/').map(encode).join('/'),
    canonicalQuery,
    ...names.map((name) => `${name}:${String(headers[name]).trim()}`),
    '',
    signedHeaders,
    String(headers['x-amz-content-sha256']),
  ].join('\n');
  const [day = '', region = ''] = scope.split('/');
  const signingKey = ['s3', 'aws4_request'].reduce(
    hmac,
    hmac(hmac(`AWS4${keys.secretAccessKey}`, day), region),
  );
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonicalRequest)].join('\n');
  return hmac(signingKey, text).toString('hex') === signature ? null : 'SignatureDoesNotMatch';
};
