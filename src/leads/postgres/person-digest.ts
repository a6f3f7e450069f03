import { hash } from 'node:crypto';
import { usernameKey } from '../query/username-key.ts';

/** Of one person. */
export const digestBytes = 16;

/**
 * What a person is known by in the tables: the first half of a SHA-256 of their username's key. Salted, so that a list
 * of digests of all names, made beforehand, opens none; the salt stands in the same database, so who has it all can
 * still try names one by one. 128 bits, which no two of all names there are will share.
 */
export const personDigest = (username: string, salt: string): Buffer =>
  hash('sha256', `${salt} ${usernameKey(username)}`, 'buffer').subarray(0, digestBytes);

/** The digest as PostgreSQL reads a uuid. */
export const digestText = (digest: Buffer): string => digest.toString('hex');
