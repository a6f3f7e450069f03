import { describe, expect, it } from 'vitest';
import { AppError, errorTable, toAppError } from '../../src/kit/errors.ts';

describe('public errors', () => {
  it('carry the status and type of their row in the table', () => {
    const error = new AppError('insufficient_balance', 'Top up.');
    expect(error.status).toBe(402);
    expect(error.toEnvelope()).toEqual({
      type: 'insufficient_quota',
      code: 'insufficient_balance',
      message: 'Top up.',
    });
  });

  it('name the offending field', () => {
    expect(new AppError('invalid_parameter', 'x', { param: 'limit' }).toEnvelope().param).toBe('limit');
  });

  it('do not show an unknown fault, and keep it for the log', () => {
    const fault = new Error('password=hunter2 at /srv/secret.ts:12');
    const shown = toAppError(fault);
    expect(shown.status).toBe(500);
    expect(JSON.stringify(shown.toEnvelope())).not.toMatch(/hunter2|secret/);
    expect(shown.cause).toBe(fault);
  });

  it('have statuses of refusals and faults only', () => {
    for (const [status] of Object.values(errorTable)) expect(status).toBeGreaterThanOrEqual(400);
  });
});
