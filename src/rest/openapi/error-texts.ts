import { outcomeUnknown } from '../../operations/tools/run-tool.ts';
import { messages, type ErrorCode } from '../../kit/errors.ts';
import type { ErrorText } from '../../operations/operation-docs.ts';

/** Tells of an id that nothing has. */
const noSuch = (kind: string, id = '7c1d8f52'): ErrorText => ({
  when: `There is no such ${kind}.`,
  message: `There is no ${kind} with id "${id}".`,
});

/** When each public error happens, with an example of its message. */
export const errorTexts: Readonly<Record<ErrorCode, ErrorText>> = {
  invalid_api_key: {
    when: 'The key is missing, wrong, expired or revoked, or its account is suspended.',
    message: messages.invalid_api_key,
  },
  invalid_sign_in: {
    when: 'The signed message cannot be read, is not for this service and time, was used before, or has another signature.',
    message:
      'The sign-in does not count: nonce: was used before. Ask /v1/auth/wallet for a new challenge, and sign that.',
  },
  insufficient_balance: {
    when: 'The available balance, or a budget of the key (`param` names it), does not cover what the request may cost.',
    message:
      'The request needs $0.04 of balance and the account has $0.01 available. Top up the account, or ask for something that costs less.',
  },
  payment_required: {
    when: 'There was no payment, or it cannot be taken. The terms are in the header and the body.',
    message: 'Payment required',
  },
  invalid_json: { when: 'The body is not JSON in UTF-8.', message: messages.invalid_json },
  permission_denied: {
    when: 'The API key has limits, and such a key cannot manage keys.',
    message: 'This API key has limits, so it cannot manage keys. Use a key without limits.',
  },
  confirmation_required: {
    when: 'Over MCP: the call may cost more than the price above which its person is asked. The text has the page.',
    message:
      'This call may cost up to $0.40. Calls of this assistant that may cost more than $0.10 need a confirmation by the person.',
  },
  invalid_parameter: {
    when: 'A field has a value that is not allowed; `param` names it.',
    message: 'model: must have at most 128 characters',
  },
  unsupported_response_format: {
    when: 'Images are answered as URLs only.',
    message: 'response_format: only "url" is served. Leave it out.',
    param: 'response_format',
  },
  content_policy_violation: {
    when: 'The prompt or an input was refused by the content policy. Nothing was charged.',
    message: 'The request was refused by the content policy. Change the prompt.',
  },
  model_not_found: {
    when: 'The account has no such SKU, or it has no price.',
    message: 'model: there is no such SKU. See GET /v1/models.',
    param: 'model',
  },
  invalid_payment: {
    when: 'The payment proof cannot be read.',
    message: 'The payment proof is not base64 of JSON. Send the proof that your x402 client made.',
  },
  invalid_range: {
    when: '`from` is not before `to`.',
    message: 'from: must be earlier than to.',
    param: 'from',
  },
  invalid_cursor: {
    when: 'The cursor is not one that this list gave this account.',
    message: 'cursor: is not a cursor of this list. Use next_cursor as it was answered.',
    param: 'cursor',
  },
  unknown_parameter: {
    when: 'The request has a field that this service does not support.',
    message: 'previous_response_id: is not supported. Send the whole conversation in input.',
    param: 'previous_response_id',
  },
  invalid_value: {
    when: 'A supported field has a value that is not supported.',
    message: 'tools.0.type: only function tools are supported.',
    param: 'tools.0.type',
  },
  input_too_large: {
    when: 'The request is longer than the largest prompt.',
    message: 'The request is larger than 4194304 bytes. Send less.',
  },
  not_found: { when: 'There is nothing at this address.', message: messages.not_found },
  job_not_found: { when: 'The account has no job with this id.', message: messages.job_not_found },
  response_not_found: {
    when: 'The account has no response with this id.',
    message: 'This account has no response with that id. Check the id.',
    param: 'response_id',
  },
  video_not_found: {
    when: 'The account has no video with this id, or the video has no such variant.',
    message: messages.video_not_found,
  },
  tool_not_found: {
    when: 'No tool of this name is offered now: it does not exist, is not accepted, or has changed since.',
    message: messages.tool_not_found,
  },
  method_not_allowed: { when: 'The path takes another method.', message: 'This path takes GET.' },
  request_timeout: {
    when: 'The answer takes longer than this request may wait. The job goes on and can be read by its id.',
    message:
      'The answer takes longer than this request may wait; it goes on. Read it with GET /v1/jobs/{id}.',
  },
  idempotency_conflict: {
    when: 'The Idempotency-Key was used with another request.',
    message: 'This Idempotency-Key was used with a different request. Use a new key for a new request.',
  },
  payment_conflict: {
    when: 'The payment proof has paid another request.',
    message: 'This payment proof was used for a different request. Sign a new payment for this request.',
  },
  payment_in_progress: {
    when: 'A request with the same payment proof is being worked on.',
    message:
      'A request with this payment proof is being served. Send the same request again in a second; do not pay again.',
  },
  video_not_completed: {
    when: 'The video is not completed, or it failed.',
    message: 'This video is not completed yet. Poll GET /v1/videos/{id} until status is completed.',
  },
  cancelled: {
    when: 'Of a job: its caller cancelled it over MCP, as a task, before it began.',
    message: messages.cancelled,
  },
  content_expired: {
    when: 'The bytes were kept for their time and are gone.',
    message: messages.content_expired,
  },
  payload_too_large: {
    when: 'The body is too long, or has too many values.',
    message: 'The body is larger than 20971520 bytes. Send less.',
  },
  unsupported_media_type: { when: 'The body is compressed.', message: messages.unsupported_media_type },
  range_not_satisfiable: {
    when: 'The Range header asks for several ranges, or for none that is there.',
    message: 'The range cannot be served. Ask for one range within the content.',
  },
  expectation_failed: {
    when: 'The Expect header asks for something other than 100-continue.',
    message: messages.expectation_failed,
  },
  rate_limit_exceeded: {
    when: 'Too many requests; `Retry-After` says when to try again.',
    message: 'Too many requests. Wait 12 seconds.',
  },
  too_many_active_jobs: {
    when: 'The account has as many jobs of this kind under way as it may.',
    message: 'This account has as many jobs of this kind under way as it may. Wait until one ends.',
  },
  server_error: { when: 'A temporary fault of the service.', message: messages.server_error },
  upstream_error: {
    when: 'What the answer is made from failed. Nothing was charged.',
    message: 'The upstream failed. Nothing was charged. Try again.',
  },
  outcome_unknown: {
    when: 'The server of the tool did not answer, and the tool may have run. Nothing was charged.',
    message: outcomeUnknown.message,
  },
  upstream_unavailable: {
    when: 'Nothing can serve the request now: no upstream, or the database of the service is away or its disk full.',
    message: 'The database of the service does not answer. Try again.',
  },
  webhook_temporarily_unavailable: {
    when: 'Callbacks cannot be promised now.',
    message: 'webhook_url: callbacks are not available now. Leave it out and read the job.',
    param: 'webhook_url',
  },
  overloaded: { when: 'The service is busy.', message: messages.overloaded },
  facilitator_not_public: {
    when: 'The facilitator of this service settles for nobody else.',
    message: 'This facilitator settles the payments of this service alone.',
  },
  payment_pending: {
    when: 'It is not known yet whether the payment settled. Send the same proof again; never pay again.',
    message: 'The payment may have been settled. Send the same payment again in a moment.',
  },
  payment_unavailable: {
    when: 'No payment can be taken now. Nothing was taken.',
    message: 'No payment network can be used right now. Try again shortly.',
  },
  role_not_allowed: {
    when: 'The key has the role `read`, and this changes something.',
    message: 'This operator key may only read. Use one with the role write.',
  },
  account_not_found: noSuch('account', '0b9f3c1e'),
  connection_not_found: noSuch('connection'),
  key_not_found: noSuch('key'),
  webhook_not_found: noSuch('webhook'),
  payment_not_found: noSuch('payment'),
  refund_not_found: noSuch('refund'),
  entry_not_found: { ...noSuch('entry'), when: '`after` is not the id of a ledger entry.' },
  audit_not_found: { ...noSuch('audit'), when: '`after` is not the id of a change.' },
  account_not_active: {
    when: 'The account is pending or suspended.',
    message: 'The account is pending. Approve it first.',
  },
  refund_too_large: {
    when: 'More than the charge would be refunded.',
    message: 'At most 0.03 USD of this job can still be refunded, not 0.04 USD.',
  },
  payment_ambiguous: {
    when: 'Several payments begin so.',
    message: 'More than one payment begins with "0x5f3c": 0x5f3c9a1e, 0x5f3caa07',
  },
  payment_not_settled: {
    when: 'The payment did not happen, or it is not known whether it did.',
    message: 'The payment is failed, not settled: there is nothing to refund.',
  },
  refund_open: {
    when: 'Another refund of the payment is still open.',
    message: 'Another refund of this payment is still open. Continue that one first.',
  },
  refund_conflict: {
    when: 'The id is that of another refund, or the refund is too far to be canceled.',
    message: 'Refund 7c1d8f52 is settled and cannot be canceled any more.',
  },
  refund_not_possible: {
    when: 'The payer is not known, or the wallet lacks tokens or coins.',
    message: 'The payer is not known, so nothing can be refunded.',
  },
  network_not_configured: {
    when: 'X402_NETWORKS does not name the network of the payment.',
    message: 'The payment was made on eip155:56, which X402_NETWORKS does not name.',
  },
  invalid_setting: {
    when: 'A setting of the gateway is missing or wrong.',
    message: 'X402_EVM_REFUND_KEY: must be set (or X402_EVM_REFUND_KEY_FILE).',
  },
  leads_busy: {
    when: 'Another import or change of the profiles is under way.',
    message: 'Another import or change of the profiles is under way. Try again when it has ended.',
  },
  input_failed: {
    when: 'The body broke off, or is neither CSV nor JSON Lines.',
    message: '- is a ZIP archive; unpack it first.',
  },
  too_many_rejected: {
    when: 'More rows were rejected than `max_rejected` allows.',
    message:
      '60 of 90 rows were rejected; the limit is 1%. Nothing was imported. Correct the rows, or raise the limit to leave them out: max-rejected 67%.',
  },
  nothing_imported: {
    when: 'The body has no row that can be imported.',
    message: 'All 9 rows were rejected. Nothing was changed.',
  },
  leads_damaged: {
    when: 'The stored profiles cannot be read.',
    message: 'The stored profiles cannot be read. Import them again with replace.',
  },
  leads_failed: {
    when: 'The profiles could not be changed, as on a full disk.',
    message: 'The profiles cannot be changed: the disk is full.',
  },
  chain_unavailable: {
    when: 'The node of the chain gives no usable answer. Nothing was done.',
    message: 'The node of Base gives no usable answer. Nothing was done; try again.',
  },
  shutting_down: { when: 'The service is restarting.', message: messages.shutting_down },
};

/** The same where a payment raises a balance. */
export const creditTexts: typeof errorTexts = {
  ...errorTexts,
  permission_denied: {
    when:
      'The account of the wallet that pays is suspended, or the account of the key holds the other kind of money: real ' +
      'money, or sandbox credit. Nothing was charged.',
    message:
      'The account of this wallet is suspended, so it cannot buy. Nothing was charged. Ask the operator.',
  },
};
