import { z } from 'zod';
import { httpUrl, secret } from '../kit/settings.ts';

/** The name of the tokens among the secrets of an account. No variable has it. */
export const signInName = 'sign-in';

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;
export const variable = z.string().regex(variableName, 'must be the name of an environment variable');

/** How the gateway gets tokens for a mounted server: by client credentials, or by a sign-in of each account. */
export const oauthSchema = z
  .strictObject({
    per_account: z.boolean().default(false).describe('whether each account signs in by itself'),
    token_url: secret(httpUrl).optional().describe('where client credentials get tokens'),
    issuer: secret(httpUrl).optional().describe('where accounts sign in; by default where the `url` says'),
    client_id: z.string().min(1).optional().describe('name of the gateway there; sign-ins may do without'),
    client_secret_env: variable.optional().describe('variable with its secret'),
    scope: z.string().min(1).optional().describe('scopes, divided by spaces'),
    listed_by: z.string().min(1).optional().describe('id of the account whose sign-in lists the tools'),
  })
  .refine(
    ({ per_account, token_url, issuer, client_id, client_secret_env, listed_by }) =>
      per_account
        ? token_url === undefined && (client_secret_env === undefined || (issuer && client_id))
        : token_url && client_id && client_secret_env && (issuer ?? listed_by) === undefined,
    'needs token_url, client_id and client_secret_env; or per_account, where a client_secret_env needs client_id and issuer',
  );

/** `secret`: the value of `client_secret_env`. */
export type OAuthSettings = z.output<typeof oauthSchema> & { secret?: string | undefined };
