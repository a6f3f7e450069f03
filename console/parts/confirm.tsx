import { useEffect, useRef, useState } from 'preact/hooks';
import { useAction } from '../use-console.ts';
import { Problem } from './parts.tsx';

interface ConfirmProps {
  /** Says in words what will happen. */
  question: string;
  yes: string;
  onYes(): void;
  onNo(): void;
}

/** Asks once more before a change that cannot be undone, or that moves money. */
export const Confirm = ({ question, yes, onYes, onNo }: ConfirmProps) => {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-label={yes} onClose={onNo}>
      <p>{question}</p>
      <div class="row">
        <button
          type="button"
          class="main"
          onClick={() => {
            dialog.current?.close();
            onYes();
          }}
        >
          {yes}
        </button>
        <button type="button" onClick={() => dialog.current?.close()}>
          Cancel
        </button>
      </div>
    </dialog>
  );
};

interface ActionProps {
  label: string;
  /** Names the button where the label alone does not. */
  name?: string;
  /** Is asked before. Absent: nothing is. */
  question?: string;
  yes?: string;
  act(): Promise<void>;
}

/** A button that changes something, after a question where one is due. */
export const Action = ({ label, name, question, yes = label, act }: ActionProps) => {
  const { isBusy, problem, run } = useAction();
  const [isAsked, setAsked] = useState(false);
  const begin = (): void => void run(act);
  return (
    <>
      <button
        type="button"
        aria-label={name}
        disabled={isBusy}
        onClick={() => (question === undefined ? begin() : setAsked(true))}
      >
        {label}
      </button>
      <Problem text={problem} />
      {isAsked && question !== undefined && (
        <Confirm question={question} yes={yes} onYes={begin} onNo={() => setAsked(false)} />
      )}
    </>
  );
};
