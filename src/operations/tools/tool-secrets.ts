import { z } from 'zod';
import { AppError, messages, wrongField } from '../../kit/errors.ts';
import { signInName } from '../../mounts/oauth-settings.ts';
import { jsonAnswer } from '../answer.ts';
import type { Services } from '../call.ts';
import { readOperation } from '../define-operation.ts';
import { assertUnlimited } from '../keys/key-answer.ts';

/** PostgreSQL takes no NUL. */
const text = z.string().regex(/^[^\0]*$/, 'must have no NUL');

const input = z.strictObject({
  server: text.max(64).describe('The name of the mounted server.'),
  secrets: z
    .record(z.string().max(128), text.min(1).max(4_096).nullable())
    .describe('Values by the names that the server takes. Null removes one; those that are left out stay.'),
});
type Input = z.output<typeof input>;

const takesOnly = (names: readonly string[]): string =>
  `secrets: this server takes ${names.join(', ') || 'none'}, and no others.`;

const shared = {
  output: z.looseObject({
    server: z.string(),
    set: z.array(z.string()).describe('The names of the secrets that are set.'),
    lacking: z.array(z.string()).describe('Those that a call still needs.'),
  }),
  group: 'tools',
  // A secret is not for a model.
  tool: null,
} as const;

export const setToolSecrets = readOperation<Input, Pick<Services, 'mounts'>>({
  ...shared,
  name: 'set_tool_secrets',
  title: 'Set secrets for tools',
  description:
    'Sets what the tools of a mounted server use in the name of this account alone, such as a token of your own there. ' +
    'Values are encrypted, and never answered. Not with a key that has limits. Free.',
  input,
  method: 'PUT',
  path: '/v1/tools/{server}/secrets',
  isStrict: true,
  errors: ['permission_denied', 'invalid_value'],
  docs: {
    answer: 'ToolSecrets',
    examples: [
      {
        summary: 'A token of your own',
        parameters: { server: 'github' },
        body: { secrets: { GITHUB_TOKEN: 'ghp_…' } },
        answer: { server: 'github', set: ['GITHUB_TOKEN'], lacking: [] },
      },
    ],
    wrong: { server: 'github', secrets: 'ghp_…' },
    errors: {
      invalid_value: {
        when: 'The server takes no secret of a name, or is not mounted.',
        message: takesOnly(['GITHUB_TOKEN']),
        param: 'secrets',
      },
    },
  },
  handle: async ({ server, secrets }, { caller }, { mounts }) => {
    assertUnlimited(caller, 'set secrets');
    const names = mounts.secrets.namesOf(server).filter((name) => name !== signInName);
    if (names.length === 0 || Object.keys(secrets).some((name) => !names.includes(name)))
      throw wrongField('invalid_value', 'secrets', takesOnly(names));
    const wrong = Object.entries(secrets).find(
      ([, value]) => value !== null && !mounts.secrets.takes(server, value),
    );
    if (wrong !== undefined)
      throw wrongField(
        'invalid_value',
        'secrets',
        `secrets: ${wrong[0]} must be printable ASCII, without line ends.`,
      );
    const owner = { accountId: caller.accountId, server };
    await mounts.secrets.set(owner, secrets);
    const lacking = await mounts.secrets.lacks(owner);
    return jsonAnswer({ server, set: names.filter((name) => !lacking.includes(name)), lacking });
  },
});

export const endToolSignIn = readOperation<Pick<Input, 'server'>, Pick<Services, 'mounts'>>({
  ...shared,
  name: 'end_tool_sign_in',
  title: 'Sign out of tools',
  description:
    'Removes the tokens of this account for a mounted server where a person signed in, and tells its authorization server ' +
    'where that takes it. Not with a key that has limits. Free.',
  input: z.object({ server: input.shape.server }),
  method: 'DELETE',
  path: '/v1/tools/{server}/sign-in',
  errors: ['permission_denied', 'not_found'],
  docs: {
    answer: 'ToolSecrets',
    examples: [
      {
        summary: 'Signed out',
        parameters: { server: 'notes' },
        answer: { server: 'notes', set: [], lacking: ['sign-in'] },
      },
    ],
    wrong: { server: 'x'.repeat(65) },
  },
  handle: async ({ server }, { caller }, { mounts }) => {
    assertUnlimited(caller, 'sign out');
    const owner = { accountId: caller.accountId, server };
    const wasSignedIn = await mounts.signIns.end(owner);
    // Tokens for a server that is not mounted any more can still be removed.
    if (!wasSignedIn && mounts.signIns.pageOf(server) === null)
      throw new AppError('not_found', messages.not_found);
    const lacking = await mounts.secrets.lacks(owner);
    const set = mounts.secrets.namesOf(server).filter((name) => !lacking.includes(name));
    return jsonAnswer({ server, set, lacking });
  },
});
