import { createHmac, timingSafeEqual } from 'node:crypto';

export type Films = ReturnType<typeof createFilms>;

/**
 * Makes the addresses at which anybody who has one sees a film. A token is the id of the job and 256 bits that follow from
 * it and from a secret of the deployment. So every read of a job gives the same address, which is stored nowhere.
 */
export const createFilms = ({ secret, publicUrl }: { secret: string; publicUrl: () => string }) => {
  const tokenOf = (jobId: string): string => {
    const id = Buffer.from(jobId.replaceAll('-', ''), 'hex');
    return Buffer.concat([id, createHmac('sha256', secret).update(id).digest()]).toString('base64url');
  };
  return {
    urlOf: (jobId: string): string => `${publicUrl()}/films/${tokenOf(jobId)}`,
    /** Returns the job of a token; null for a token that was not made here. */
    jobIdOf: (token: string): string | null => {
      if (!/^[\w-]{64}$/.test(token)) return null;
      const id = Buffer.from(token, 'base64url').toString('hex', 0, 16);
      const jobId = id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
      return timingSafeEqual(Buffer.from(token), Buffer.from(tokenOf(jobId))) ? jobId : null;
    },
  };
};
