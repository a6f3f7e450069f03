import { z } from 'zod';
import { readS3Config, s3Url, type s3Variables, type S3Config } from '../http/s3/s3-settings.ts';
import { ConfigError } from '../kit/errors.ts';
import { wholeNumber, type VariableValues } from '../kit/settings.ts';

export const mediaVariables = {
  MEDIA_RETENTION_DAYS: wholeNumber(1, 3650, 30).describe('how long results are served'),
  MEDIA_DIR: z
    .string()
    .optional()
    .describe('folder of inputs and results, `DATA_DIR/media` when unset; all replicas share it'),
  MEDIA_URL: z
    .string()
    .regex(s3Url, 'must be s3://BUCKET or s3://BUCKET/PREFIX')
    .optional()
    .describe(
      '`s3://BUCKET/PREFIX` keeps them in a bucket; see [The place of the media](#the-place-of-the-media)',
    ),
};

type Values = VariableValues<typeof mediaVariables & typeof s3Variables>;

export type MediaSettings = ReturnType<typeof readMediaSettings>;

/** Throws ConfigError with one line that names the setting. */
export const readMediaSettings = (values: Values) => ({
  mediaRetentionMs: values.MEDIA_RETENTION_DAYS * 86_400_000,
  /** Null: in `dataDir`. */
  mediaDir: values.MEDIA_DIR ?? null,
  s3: readS3(values),
});

const readS3 = (values: Values): S3Config | null => {
  if (values.MEDIA_URL === undefined) return null;
  if (values.MEDIA_DIR !== undefined) throw new ConfigError('MEDIA_DIR: cannot be set beside MEDIA_URL');
  return readS3Config('MEDIA_URL', values.MEDIA_URL, values);
};
