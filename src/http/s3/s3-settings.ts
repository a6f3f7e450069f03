import { z } from 'zod';
import { ConfigError } from '../../kit/errors.ts';
import { plainUrl, secret, type VariableValues } from '../../kit/settings.ts';

export const s3Variables = {
  S3_ENDPOINT: plainUrl.optional().describe('an S3-compatible service other than AWS, addressed by path'),
  S3_REGION: z
    .string()
    .regex(/^[a-z0-9-]{2,40}$/, 'must be a region name')
    .default('us-east-1')
    .describe('region of the buckets'),
  S3_ACCESS_KEY_ID: z.string().optional().describe('access key of a bucket in `MEDIA_URL` or `LEADS_URL`'),
  S3_SECRET_ACCESS_KEY: secret(z.string()).optional().describe('its secret'),
};

export type S3Values = VariableValues<typeof s3Variables>;

/** The address of a bucket: s3://BUCKET or s3://BUCKET/PREFIX. */
export const s3Url = /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[\w./-]{0,200})?$/;

export type S3Config = ReturnType<typeof readS3Config>;

/** Reads `url`, an `s3Url`, the value of `variable`. Throws ConfigError. */
export const readS3Config = (variable: string, url: string, values: S3Values) => {
  const required = (name: 'S3_ACCESS_KEY_ID' | 'S3_SECRET_ACCESS_KEY'): string => {
    const value = values[name];
    if (value === undefined) throw new ConfigError(`${name}: must be set beside ${variable}`);
    return value;
  };
  const [bucket = '', ...path] = url.slice('s3://'.length).split('/');
  if (path.includes('.') || path.includes('..'))
    throw new ConfigError(`${variable}: the prefix must not have "." or ".." between its slashes`);
  const prefix = path.filter((part) => part !== '').join('/');
  return {
    /** The service's address without a trailing slash, such as `https://s3.eu-central-1.amazonaws.com`. */
    endpoint: values.S3_ENDPOINT ?? `https://s3.${values.S3_REGION}.amazonaws.com`,
    bucket,
    /** The prefix of every key. Empty, or ends with a slash. */
    prefix: prefix === '' ? '' : `${prefix}/`,
    region: values.S3_REGION,
    accessKeyId: required('S3_ACCESS_KEY_ID'),
    secretAccessKey: required('S3_SECRET_ACCESS_KEY'),
  };
};

/** Refuses settings of the service when none of `urls` is a bucket. Throws ConfigError. */
export const refuseUnusedS3 = (values: S3Values, urls: readonly (string | undefined)[]): void => {
  if (urls.some((url) => url?.startsWith('s3:'))) return;
  const unused = (['S3_ENDPOINT', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'] as const).find(
    (name) => values[name] !== undefined,
  );
  if (unused !== undefined)
    throw new ConfigError(
      `${unused}: goes with MEDIA_URL=s3://BUCKET or LEADS_URL=s3://BUCKET, and neither is set`,
    );
};
