import type { Check } from './check.ts';
import { accountChecks } from './checks/account.ts';
import { authenticationChecks } from './checks/authentication.ts';
import { chatStreamChecks } from './checks/chat-stream.ts';
import { chatChecks } from './checks/chat.ts';
import { documentChecks } from './checks/documents.ts';
import { errorChecks } from './checks/errors.ts';
import { historyChecks } from './checks/history.ts';
import { idempotencyChecks } from './checks/idempotency.ts';
import { imageChecks } from './checks/images.ts';
import { jobChecks } from './checks/jobs.ts';
import { modelChecks } from './checks/models.ts';
import { responseChecks } from './checks/responses.ts';
import { searchChecks } from './checks/search.ts';
import { videoChecks } from './checks/videos.ts';
import { webhookChecks } from './checks/webhooks.ts';

/** Every check, in the order of test/contract/rules.md. */
export const allChecks: readonly Check[] = [
  ...authenticationChecks,
  ...modelChecks,
  ...accountChecks,
  ...historyChecks,
  ...jobChecks,
  ...idempotencyChecks,
  ...imageChecks,
  ...webhookChecks,
  ...chatChecks,
  ...chatStreamChecks,
  ...responseChecks,
  ...videoChecks,
  ...errorChecks,
  ...searchChecks,
  ...documentChecks,
];
