import { z } from 'zod';
import { ConfigError } from '../kit/errors.ts';
import { plainUrl } from '../kit/url-settings.ts';
import { wholeNumber, type VariableValues } from '../kit/variables.ts';

export const mediaVariables = {
  MEDIA_RETENTION_DAYS: wholeNumber(1, 3650, 30).describe('how long results are served'),
  MEDIA_DIR: z
    .string()
    .optional()
    .describe('folder of inputs and results, `DATA_DIR/media` when unset; all replicas share it'),
  MEDIA_URL: z
    .string()
    .regex(
      /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[\w./-]{0,200})?$/,
      'must be s3://BUCKET or s3://BUCKET/PREFIX',
    )
    .optional()
    .describe(
      '`s3://BUCKET/PREFIX` keeps them in a bucket; see [The place of the media](#the-place-of-the-media)',
    ),
  S3_ENDPOINT: plainUrl.optional().describe('an S3-compatible service other than AWS, addressed by path'),
  S3_REGION: z
    .string()
    .regex(/^[a-z0-9-]{2,40}$/, 'must be a region name')
    .default('us-east-1')
    .describe('region of the bucket'),
  S3_ACCESS_KEY_ID: z.string().optional().describe('access key; needed beside `MEDIA_URL`'),
  S3_SECRET_ACCESS_KEY: z.string().optional().describe('its secret; needed beside `MEDIA_URL`'),
};

type Values = VariableValues<typeof mediaVariables>;

export type MediaSettings = ReturnType<typeof readMediaSettings>;

export interface S3Config {
  /** The service's address without a trailing slash, such as `https://s3.eu-central-1.amazonaws.com`. */
  endpoint: string;
  bucket: string;
  /** Stands before every key. Empty, or ends with a slash. */
  prefix: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}

/** Throws ConfigError with one line that names the setting. */
export const readMediaSettings = (values: Values) => ({
  mediaRetentionMs: values.MEDIA_RETENTION_DAYS * 86_400_000,
  /** Null: in `dataDir`. */
  mediaDir: values.MEDIA_DIR ?? null,
  /** Null: media are kept on disk. */
  s3: readS3(values),
});

const readS3 = (values: Values): S3Config | null => {
  const { MEDIA_URL: url, S3_REGION: region } = values;
  if (url === undefined) {
    const unused = (['S3_ENDPOINT', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'] as const).find(
      (name) => values[name] !== undefined,
    );
    if (unused === undefined) return null;
    throw new ConfigError(`${unused}: goes with MEDIA_URL=s3://BUCKET, which is not set`);
  }
  if (values.MEDIA_DIR !== undefined) throw new ConfigError('MEDIA_DIR: cannot be set beside MEDIA_URL');
  const required = (name: 'S3_ACCESS_KEY_ID' | 'S3_SECRET_ACCESS_KEY'): string => {
    const value = values[name];
    if (value === undefined) throw new ConfigError(`${name}: must be set beside MEDIA_URL`);
    return value;
  };
  const [bucket = '', ...path] = url.slice('s3://'.length).split('/');
  const prefix = path.filter((part) => part !== '').join('/');
  return {
    endpoint: values.S3_ENDPOINT ?? `https://s3.${region}.amazonaws.com`,
    bucket,
    prefix: prefix === '' ? '' : `${prefix}/`,
    region,
    accessKeyId: required('S3_ACCESS_KEY_ID'),
    secretAccessKey: required('S3_SECRET_ACCESS_KEY'),
  };
};
